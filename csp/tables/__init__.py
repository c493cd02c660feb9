"""Tables: cells bound by relations, made of arrays, frames and microdata."""

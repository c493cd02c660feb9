"""A protected table as one HTML file for people, and the same facts as JSON for programs."""

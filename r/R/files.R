# Data frames as files for the command, in a private folder that is removed at once.

folder <- function() {
  path <- tempfile("cellveil-")
  dir.create(path, mode = "0700")
  path
}

columns_there <- function(data, columns, argument) {
  missing <- setdiff(columns, names(data))
  if (length(missing)) {
    stop(
      sprintf("%s = \"%s\": the data has no such column; it has %s", argument, missing[1],
              paste(names(data), collapse = ", ")),
      call. = FALSE
    )
  }
}

write_frame <- function(data, file) {
  if (!is.data.frame(data)) {
    stop("data must be a data frame, or the name of a file; got ", class(data)[1], call. = FALSE)
  }
  plain_columns <- lapply(data, function(column) {
    if (is.list(column) || NCOL(column) != 1) {
      stop("a column of lists or of several columns cannot be written; keep plain columns", call. = FALSE)
    }
    # 15 digits would change a number that needs 17.
    if (is.double(column) && !inherits(column, c("Date", "POSIXt"))) shortest(column)
    else enc2utf8(as.character(column))
  })
  frame <- as.data.frame(plain_columns, stringsAsFactors = FALSE, check.names = FALSE)
  names(frame) <- enc2utf8(names(data))
  to <- base::file(file, "wb", encoding = "native.enc")
  on.exit(close(to))
  quoted <- function(text) {
    ifelse(is.na(text), "", paste0("\"", gsub("\"", "\"\"", text, fixed = TRUE), "\""))
  }
  rows <- c(
    paste(quoted(names(frame)), collapse = ","),
    do.call(paste, c(unname(lapply(frame, quoted)), sep = ","))
  )
  writeLines(rows, to, sep = "\n", useBytes = TRUE)
}

# The shortest text that is read back as the same number.
shortest <- function(x) {
  out <- rep(NA_character_, length(x))
  known <- !is.na(x)
  out[known] <- sprintf("%.15g", x[known])
  for (digits in c("%.16g", "%.17g")) {
    off <- known & as.numeric(out) != x
    if (!any(off)) break
    out[off] <- sprintf(digits, x[off])
  }
  # Exponents are not read: very large and very small numbers are few.
  long <- grep("e", out, fixed = TRUE)
  out[long] <- vapply(x[long], without_exponent, "")
  out
}

without_exponent <- function(x) {
  for (digits in 1:17) {
    text <- sprintf("%.*f", max(0, digits - 1 - floor(log10(abs(x)))), x)
    if (as.numeric(text) == x) break
  }
  text
}

# Texts as they are meant: an apostrophe keeps spreadsheets from formulas.
read_texts <- function(file) {
  frame <- utils::read.csv(
    file, colClasses = "character", check.names = FALSE, na.strings = "", encoding = "UTF-8",
    fileEncoding = "UTF-8"
  )
  frame[] <- lapply(frame, function(column) sub("^'(?='*[-=+@\t\r\n])", "", column, perl = TRUE))
  frame
}

as_numbers <- function(column) utils::type.convert(column, as.is = TRUE, na.strings = "")

# Codes, which are texts, stand before the value.
read_cells <- function(file) {
  frame <- read_texts(file)
  results <- match("value", names(frame)):ncol(frame)
  frame[results] <- lapply(frame[results], as_numbers)
  frame
}

# Columns of the kinds that they have in the data. A file has texts: those that are kept as they are
# become numbers only where these are written alike, and "01" stays a code.
read_records <- function(file, data, kept) {
  frame <- read_texts(file)
  for (name in names(frame)) {
    text <- frame[[name]]
    like <- if (is.data.frame(data)) data[[name]]
    frame[[name]] <- if (is.factor(like)) {
      if (all(is.na(text) | text %in% levels(like))) factor(text, levels(like), ordered = is.ordered(like)) else text
    } else if (is.character(like)) {
      text
    } else if (inherits(like, "Date")) {
      dates <- as.Date(text, "%Y-%m-%d")
      if (identical(is.na(dates), is.na(text))) dates else text
    } else if (inherits(like, "POSIXct")) {
      zone <- c(attr(like, "tzone"), "")[1]
      points <- as.POSIXct(text, zone, tryFormats = c("%Y-%m-%d %H:%M:%OS", "%Y-%m-%d"), optional = TRUE)
      if (identical(is.na(points), is.na(text))) points else text
    } else if (inherits(like, "difftime")) {
      as.difftime(as_numbers(text), units = units(like))
    } else if (is.null(like) && name %in% kept && !identical(as.character(as_numbers(text)), text)) {
      text
    } else {
      as_numbers(text)
    }
  }
  frame
}

# What is missing in a data frame is NA there, and an empty text in its file: a code "NA" is a code.
missing_words <- function(data, ...) {
  if (is.data.frame(data) && !"na" %in% names(list(...))) c("--na", "")
}

as_input <- function(data, place) {
  if (is.character(data) && length(data) == 1) {
    if (!file.exists(data)) stop(sprintf("there is no file '%s'", data), call. = FALSE)
    return(data)
  }
  file <- file.path(place, "data.csv")
  write_frame(data, file)
  file
}

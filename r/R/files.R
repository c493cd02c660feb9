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
    if (is.list(column)) stop("a column of lists cannot be written; keep plain columns", call. = FALSE)
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
  out[long] <- vapply(x[long], format, "", scientific = FALSE, trim = TRUE, digits = 15)
  out
}

# Codes are texts; with codes = NULL those columns that stand before the value.
read_frame <- function(file, codes) {
  frame <- utils::read.csv(
    file, colClasses = "character", check.names = FALSE, na.strings = "", encoding = "UTF-8",
    fileEncoding = "UTF-8"
  )
  if (is.null(codes)) codes <- names(frame)[seq_len(match("value", names(frame)) - 1)]
  for (name in setdiff(names(frame), codes)) {
    frame[[name]] <- utils::type.convert(frame[[name]], as.is = TRUE, na.strings = "")
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

#' Hierarchies as data frames
#'
#' `hierarchy()` makes a hierarchy of nested columns, the coarsest first, as a correspondence table
#' has them. A hierarchy is a data frame with the columns `level` ("@", "@@", ...) and `name`, as
#' sdcTable and GaussSuppression take it, without its total; `read_hrc()` and `write_hrc()` are the
#' files of tau-ARGUS (and of rtauargus).
#'
#' @param data A data frame.
#' @param columns Names of its nested columns, the coarsest first; all by default.
#' @param file Name of a file.
#' @param x A hierarchy.
#' @return A data frame with the columns `level` and `name`; `write_hrc()` the name of the file.
#' @examples
#' places <- data.frame(country = c("N", "N", "S"), region = c("N1", "N2", "S1"))
#' hierarchy(places)
#' @export
hierarchy <- function(data, columns = names(data)) {
  columns_there(data, columns, "columns")
  codes <- unique(as.data.frame(lapply(data[columns], as.character), stringsAsFactors = FALSE))
  if (anyNA(codes)) stop("a code is missing; leave its row out", call. = FALSE)
  for (i in seq_along(columns)[-1]) {
    above <- unique(codes[c(i - 1, i)])
    twice <- unique(above[[2]][duplicated(above[[2]])])
    if (length(twice)) {
      stop(sprintf("code '%s' of column '%s' lies in two codes of '%s'", twice[1], columns[i],
                   columns[i - 1]), call. = FALSE)
    }
  }
  below <- function(rows, depth) {
    out <- NULL
    for (code in unique(rows[[depth]])) {
      inner <- rows[rows[[depth]] == code, , drop = FALSE]
      # A code that repeats above itself is one code.
      if (depth == 1 || code != inner[[depth - 1]][1]) {
        out <- rbind(out, data.frame(level = strrep("@", depth), name = code))
      }
      if (depth < length(rows)) out <- rbind(out, below(inner, depth + 1))
    }
    out
  }
  below(codes, 1)
}

#' @rdname hierarchy
#' @export
read_hrc <- function(file) {
  text <- readLines(file, encoding = "UTF-8", warn = FALSE)
  text <- sub("[ \t\r]+$", "", text[nzchar(trimws(text))])
  signs <- attr(regexpr("^@*", text), "match.length")
  data.frame(level = strrep("@", signs + 1), name = trimws(substring(text, signs + 1)))
}

#' @rdname hierarchy
#' @export
write_hrc <- function(x, file) {
  columns_there(x, c("level", "name"), "x")
  depth <- nchar(x$level)
  least <- min(depth)
  # sdcTable's hierarchies begin with the total, which the file of tau-ARGUS leaves out.
  if (sum(depth == least) == 1 && depth[1] == least && nrow(x) > 1) {
    x <- x[-1, ]
    depth <- nchar(x$level)
    least <- min(depth)
  }
  writeLines(enc2utf8(paste0(strrep("@", depth - least), x$name)), file, useBytes = TRUE)
  invisible(file)
}

hierarchy_words <- function(hierarchies, place) {
  words <- character()
  if (length(hierarchies) && (is.null(names(hierarchies)) || any(names(hierarchies) == ""))) {
    stop("hierarchies needs the names of their columns: list(region = ...)", call. = FALSE)
  }
  for (column in names(hierarchies)) {
    given <- hierarchies[[column]]
    file <- given
    if (is.data.frame(given)) {
      file <- file.path(place, sprintf("hierarchy%d.hrc", length(words)))
      write_hrc(given, file)
    }
    words <- c(words, "--hierarchy", paste0(column, "=", file))
  }
  words
}

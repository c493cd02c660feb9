#' Protect the table of a data frame
#'
#' Finds the sensitive cells, the fewest (or least valuable) others to suppress with them, and audits
#' the result. Suppressed values are not in what comes back.
#'
#' @param data A data frame of records, or the name of a file. `NA` is a missing entry; the text
#'   `"NA"` is a code like any other (Namibia, sodium), unless `na = "NA"` says otherwise. In files
#'   both look alike, and the command asks.
#' @param by Columns of the table's dimensions; those of a cross table are found.
#' @param rules What is sensitive: `"P(10,1)"`, `"NK(2,85)|FREQ(3,10)"`.
#' @param value Column to sum; without it records are counted.
#' @param contributor Column that says who reports.
#' @param hierarchies A list of hierarchies by column: data frames ([hierarchy()]) or .hrc files.
#' @param keep An earlier result, or a file of one: what it suppressed stays suppressed.
#' @param intervals Whether to add what an outsider can infer of each cell.
#' @param ... Further options of `cellveil protect`: `time_limit = 60`, `cost = "value"`,
#'   `total = c(region = "DE")`, `aggregated = TRUE, count = "n"`.
#' @return A data frame of class `cellveil_table`, a row for each cell: the codes, the value (`NA`
#'   where it is suppressed) and the status. [facts()] are what is known of the result.
#' @seealso [crosstab()], [audit()], [attack()]
#' @examples
#' \dontrun{
#' people <- data.frame(region = c("N", "N", "N", "S"), sex = c("f", "m", "m", "f"))
#' protect(people, c("region", "sex"), "FREQ(3,10)")
#' }
#' @export
protect <- function(data, by = NULL, rules, value = NULL, contributor = NULL, hierarchies = list(),
                    keep = NULL, intervals = FALSE, ...) {
  place <- folder()
  on.exit(unlink(place, recursive = TRUE))
  if (is.data.frame(data)) {
    for (argument in c("by", "value", "contributor")) columns_there(data, get(argument), argument)
  }
  published <- file.path(place, "published.csv")
  release <- file.path(place, "release.json")
  if (inherits(keep, "cellveil_table")) {
    dir.create(file.path(place, "kept"))
    keep <- release_or_file(keep, file.path(place, "kept"))
  }
  words <- c(
    "protect", as_input(data, place),
    options_of(by = by, rules = rules, value = value, contributor = contributor, keep = keep),
    hierarchy_words(hierarchies, place), missing_words(data, ...), options_of(...), if (intervals) "--intervals",
    "-o", published, "--release", release, "--json"
  )
  said <- told(asked(words))
  cells <- read_cells(published)
  by <- if (is.null(by)) names(cells)[seq_len(match("value", names(cells)) - 1)] else by
  structure(
    cells,
    class = c("cellveil_table", "data.frame"), by = by,
    release = list(json = lines_of(release), csv = lines_of(sub("json$", "csv", release))), facts = jsonlite::fromJSON(said$stdout, simplifyVector = TRUE)
  )
}

#' What is known of a result
#'
#' @param x What [protect()], [audit()] or [attack()] returned.
#' @return A list.
#' @export
facts <- function(x) attr(x, "facts")

#' @export
print.cellveil_table <- function(x, ...) {
  suppressed <- sum(is.na(x$value))
  cat(sprintf("%d cells of %s, %d suppressed\n", nrow(x), paste(attr(x, "by"), collapse = " x "),
              suppressed))
  print(as.data.frame(x), ...)
  invisible(x)
}

#' @export
`[.cellveil_table` <- function(x, ...) {
  # A part of a table is a data frame: what is known of the whole is not known of it.
  out <- NextMethod()
  if (is.data.frame(out)) {
    attr(out, "release") <- attr(out, "facts") <- attr(out, "by") <- NULL
    class(out) <- "data.frame"
  }
  out
}

#' @export
as.data.frame.cellveil_table <- function(x, ...) {
  attr(x, "release") <- attr(x, "facts") <- attr(x, "by") <- NULL
  class(x) <- "data.frame"
  x
}

#' A cross table to print or to publish
#'
#' @param x What [protect()] returned.
#' @param rows,columns Its dimensions; by default the first, and the last.
#' @param mark What stands for a suppressed cell.
#' @return A data frame of text, codes in the order of the table; other dimensions are columns.
#' @examples
#' \dontrun{
#' crosstab(protect(people, c("region", "sex"), "FREQ(3,10)"))
#' }
#' @export
crosstab <- function(x, rows = NULL, columns = NULL, mark = "x") {
  by <- attr(x, "by")
  if (is.null(by)) stop("x must be what protect() returned", call. = FALSE)
  columns <- if (is.null(columns)) by[length(by)] else columns
  rows <- if (is.null(rows)) setdiff(by, columns) else rows
  if (!setequal(c(rows, columns), by) || length(columns) != 1) {
    stop("rows and columns must be all of ", paste(by, collapse = ", "), ", one of them in columns",
         call. = FALSE)
  }
  shown <- ifelse(is.na(x$value), NA, vapply(x$value, format, "", scientific = FALSE, digits = 15))
  shown[is.na(shown)] <- mark
  keys <- if (length(rows)) do.call(paste, c(unname(as.list(as.data.frame(x)[rows])), sep = "\r")) else rep("", nrow(x))
  across <- unique(x[[columns]])
  first <- !duplicated(keys)
  wide <- matrix(
    shown[match(paste(rep(keys[first], length(across)), rep(across, each = sum(first)), sep = "\n"),
                paste(keys, x[[columns]], sep = "\n"))],
    nrow = sum(first), dimnames = list(NULL, across)
  )
  wide[is.na(wide)] <- ""
  data.frame(as.data.frame(x)[first, rows, drop = FALSE], wide, check.names = FALSE,
             row.names = NULL, stringsAsFactors = FALSE)
}

#' Look at data before it is protected
#'
#' @param data A data frame of records, or the name of a file.
#' @param by Columns of a table's dimensions, to count its cells and those that rules find sensitive.
#' @param ... Further options of `cellveil inspect`.
#' @return A list: records, columns, hierarchies that columns form, tables.
#' @export
inspect <- function(data, by = NULL, ...) {
  place <- folder()
  on.exit(unlink(place, recursive = TRUE))
  said <- asked("inspect", as_input(data, place), missing_words(data, ...), options_of(by = by, ...), "--json")
  jsonlite::fromJSON(told(said)$stdout)
}

#' Audit a published table
#'
#' Says which withheld cells can be worked out. Nothing but what is public is needed.
#'
#' @param x What [protect()] returned, a data frame as it was published (withheld cells `NA` or with
#'   their sign), or the name of a file: a list or a cross table.
#' @param by,value Columns of the dimensions and of the value; found where there is no doubt.
#' @param hierarchies A list of hierarchies by column, as for [protect()].
#' @param marks Whose signs it has: "destatis", "statcan", "uk", "census", "eurostat", ...
#' @param ... Further options of `cellveil audit`: `withheld = "*"`, `rounded = 5`, `reveal = TRUE`.
#' @return A list of class `cellveil_audit`: `cells`, `suppressed`, `disclosed` (how many can be worked
#'   out), and more.
#' @examples
#' \dontrun{
#' audit("published.xlsx", marks = "uk")
#' }
#' @export
audit <- function(x, by = NULL, value = NULL, marks = NULL, hierarchies = list(), ...) {
  place <- folder()
  on.exit(unlink(place, recursive = TRUE))
  words <- c(
    "audit", release_or_file(x, place), options_of(by = by, value = value, marks = marks),
    hierarchy_words(hierarchies, place), options_of(...)
  )
  said <- told(asked(words, "--json", allowed = 0:1))
  found <- jsonlite::fromJSON(said$stdout, simplifyVector = TRUE)
  structure(found, class = "cellveil_audit", facts = found)
}

#' @export
print.cellveil_audit <- function(x, ...) {
  cat(sprintf("%d cells, %d withheld, %d of these can be worked out\n", x$cells, x$suppressed,
              x$disclosed))
  invisible(x)
}

#' Attack a release
#'
#' @param x What [protect()] returned, or a file of a release or of a published table.
#' @param ... Further options of `cellveil attack report`: `mechanism = "known.json"` for what an
#'   attacker knows of the algorithm.
#' @return A list of what every attack found.
#' @export
attack <- function(x, ...) {
  place <- folder()
  on.exit(unlink(place, recursive = TRUE))
  said <- asked("attack", "report", release_or_file(x, place), options_of(...), "--json",
                   allowed = 0:1)
  jsonlite::fromJSON(told(said)$stdout)
}

release_or_file <- function(x, place) {
  if (!inherits(x, "cellveil_table")) return(as_input(x, place))
  # A release is two files: its relations, and its cells beside them.
  for (kind in c("json", "csv")) {
    writeLines(attr(x, "release")[[kind]], file.path(place, paste0("release.", kind)), useBytes = TRUE)
  }
  file.path(place, "release.json")
}

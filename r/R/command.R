# The command line: where it is, what its options are called, and what its ends mean.

#' Where the command is
#'
#' The command `cellveil` does the work. It is looked for in `options(cellveil.command = )`, in the
#' environment variable `CELLVEIL_COMMAND`, and on the path.
#'
#' @return The path of the command.
#' @examples
#' \dontrun{
#' options(cellveil.command = "~/venvs/cellveil/bin/cellveil")
#' cellveil_command()
#' }
#' @export
cellveil_command <- function() {
  named <- getOption("cellveil.command", Sys.getenv("CELLVEIL_COMMAND", ""))
  found <- if (nzchar(named)) Sys.which(path.expand(named)) else Sys.which("cellveil")
  if (!nzchar(found)) {
    stop(
      if (nzchar(named)) sprintf("there is no command '%s'; ", named)
      else "the command 'cellveil' is not on the path; ",
      "install it with: python -m venv cellveil && cellveil/bin/pip install cellveil, ",
      "and name it: options(cellveil.command = \"cellveil/bin/cellveil\")",
      call. = FALSE
    )
  }
  unname(found)
}

#' Run the command
#'
#' For what has no function of its own here: `cellveil("doctor")`.
#'
#' @param ... Words of the command line.
#' @param allowed Exit codes that are not errors: 1 says "unsafe" or "disclosed" in some commands.
#' @return A list: `status`, and what was said on `stdout` and `stderr`, as lines of text.
#' @examples
#' \dontrun{
#' cat(cellveil("--version")$stdout)
#' }
#' @export
cellveil <- function(..., allowed = 0L) {
  words <- c(...)
  # Files, and not pipes: Windows loses the encoding of pipes, and long output blocks them.
  out <- tempfile("cellveil-out-")
  err <- tempfile("cellveil-err-")
  on.exit(unlink(c(out, err)))
  command <- cellveil_command()
  status <- suppressWarnings(system2(
    command, shQuote(words), stdout = out, stderr = err,
    env = if (.Platform$OS.type == "windows") character() else c("PYTHONIOENCODING=utf-8", "COLUMNS=100")
  ))
  said <- list(status = status, stdout = lines_of(out), stderr = lines_of(err))
  if (!status %in% allowed) {
    text <- said$stderr[nzchar(said$stderr)]
    stop(paste(sub("^Error: ", "", text), collapse = "\n"), call. = FALSE)
  }
  said
}

# What the command said, how a file was read among it, is passed on as a message.
told <- function(said) {
  words <- said$stderr[nzchar(said$stderr) & !grepl("^Wrote ", said$stderr)]
  if (length(words)) message(paste(words, collapse = "\n"))
  said
}

lines_of <- function(file) readLines(file, encoding = "UTF-8", warn = FALSE)

# Options of the command from arguments of R: time_limit = 20 is --time-limit 20, strict = TRUE is
# --strict, singletons = FALSE is --no-singletons, and c(region = "Total") is region=Total.
options_of <- function(...) {
  given <- list(...)
  if (length(given) && (is.null(names(given)) || any(!nzchar(names(given))))) {
    stop("further arguments need names: time_limit = 20 is the option --time-limit 20", call. = FALSE)
  }
  words <- character()
  for (name in names(given)) {
    value <- given[[name]]
    dashed <- gsub("_", "-", name, fixed = TRUE)
    if (is.null(value)) next
    if (is.logical(value) && length(value) == 1 && !is.na(value)) {
      words <- c(words, paste0(if (value) "--" else "--no-", dashed))
    } else if (!is.null(names(value))) {
      for (key in names(value)) words <- c(words, paste0("--", dashed), paste0(key, "=", value[[key]]))
    } else {
      words <- c(words, paste0("--", dashed), paste(plain(value), collapse = ","))
    }
  }
  words
}

# Numbers as they would be typed: 100000 and not 1e+05.
plain <- function(x) if (is.numeric(x)) format(x, scientific = FALSE, trim = TRUE, digits = 15) else as.character(x)

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

# The command as a function of this package calls it: its errors speak of arguments of R.
asked <- function(...) {
  tryCatch(cellveil(...), error = function(e) stop(in_r(conditionMessage(e)), call. = FALSE))
}

flags <- c("aggregated", "singletons", "unions", "absent-zero", "intervals", "reveal", "round", "strict",
           "integer", "descending", "header")
choices <- paste0(
  "allow|abs|shift|split|error|skip|drop|zero|values?|counts?|unknown|unit|prefix|found|",
  "destatis|statcan|uk|census|bls|eia|eurostat|sdmx|ksh|health|cellveil"
)

# Options of the command in a text, as arguments: --time-limit 20 is time_limit = 20.
in_r <- function(text) {
  for (flag in flags) {
    name <- gsub("-", "_", flag, fixed = TRUE)
    text <- gsub(sprintf("(?<![\\w-])--no-%s\\b(?!-)", flag), paste(name, "= FALSE"), text, perl = TRUE)
    text <- gsub(sprintf("(?<![\\w-])--%s\\b(?!-)", flag), paste(name, "= TRUE"), text, perl = TRUE)
  }
  text <- gsub("--withheld (?!and\\b|or\\b)([^\\s,;)]+)", "withheld = \"\\1\"", text, perl = TRUE)
  pattern <- sprintf("(?<![\\w-])--([a-z][a-z-]*[a-z])(?: ((?:%s)\\b|'[^']*'|[^\\s,;()=]+=[^\\s,;)]+|[A-Z]{2,}\\.[a-z]+\\b|[0-9][0-9.]*[0-9]|[0-9]|[A-Z]{2,}\\b))?", choices)
  at <- gregexpr(pattern, text, perl = TRUE)
  regmatches(text, at) <- lapply(regmatches(text, at), function(found) vapply(found, as_argument, ""))
  text <- gsub("is not COLUMN=FILE", "is not c(COLUMN = \"FILE\")", text, fixed = TRUE)
  text <- gsub("(such as) ([\\w.]+)=([\\w./-]+)(?=[\\s,;)]|$)", "\\1 c(\\2 = \"\\3\")", text, perl = TRUE)
  # Commands are functions here; those without one go by cellveil().
  text <- gsub(sprintf("'cellveil (%s)'", paste(functions, collapse = "|")), "\\1()", text, perl = TRUE)
  gsub("'cellveil ([a-z]+)( [a-z]+)?'", "cellveil(\"\\1\\2\")", text, perl = TRUE)
}

functions <- c("protect", "inspect", "audit", "attack", "microaggregate")

as_argument <- function(option) {
  name <- gsub("-", "_", sub("^--([a-z-]+).*", "\\1", option), fixed = TRUE)
  value <- gsub("'", "", sub("^--[a-z-]+ ?", "", option), fixed = TRUE)
  if (!nzchar(value)) return(if (grepl("'", option, fixed = TRUE)) paste(name, "= \"\"") else paste0(name, "="))
  if (grepl("=", value, fixed = TRUE)) {
    return(sprintf("%s = c(%s = \"%s\")", name, sub("=.*", "", value), sub("^[^=]*=", "", value)))
  }
  if (grepl("^[0-9]", value)) return(paste(name, "=", value))
  sprintf("%s = \"%s\"", name, value)
}

# What the command said, how a file was read among it, is passed on as a message.
told <- function(said) {
  # Files of jobs, and those that this package has written for itself, are the command line's.
  words <- said$stderr[nzchar(said$stderr) & !grepl("^(Wrote |--job )", said$stderr)]
  if (length(words)) message(in_r(paste(words, collapse = "\n")))
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

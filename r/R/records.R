#' Microaggregate records
#'
#' Replaces records by the means of clusters of at least k.
#'
#' @param data A data frame, or the name of a file.
#' @param k Least size of a cluster.
#' @param attributes Columns to microaggregate.
#' @param keep Columns to publish as they are.
#' @param ... Further options of `cellveil microaggregate`: `within = "region"`, `contributor = "firm"`,
#'   `rules = "P(60)", comply = "merge"`.
#' @return A data frame of the attributes and the kept columns, in the order of the data and of its kinds.
#' @examples
#' \dontrun{
#' microaggregate(data.frame(age = 20:39, income = 1:20), k = 5)
#' }
#' @export
microaggregate <- function(data, k, attributes = NULL, keep = NULL, ...) {
  place <- folder()
  on.exit(unlink(place, recursive = TRUE))
  if (is.data.frame(data)) {
    columns_there(data, attributes, "attributes")
    columns_there(data, keep, "keep")
  }
  masked <- file.path(place, "masked.csv")
  told(asked("microdata", "microaggregate", as_input(data, place), "-k", plain(k),
             missing_words(data, ...), options_of(attributes = attributes, keep = keep, ...), "-o", masked))
  read_records(masked, data, c(keep, list(...)$within))
}

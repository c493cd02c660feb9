# Facts about what comes back; the command has to be there (see cellveil_command()).
library(cellveil)
command <- try(cellveil_command(), silent = TRUE)
if (inherits(command, "try-error")) {
  cat("skipped:", conditionMessage(attr(command, "condition")), "\n")
  quit(status = 0)
}
refused <- function(call, words) {
  message <- tryCatch({ call; "" }, error = conditionMessage)
  if (!grepl(words, message, fixed = TRUE)) stop("expected '", words, "', got '", message, "'")
}

# Counts of 40 persons in five cells, one of them with two.
people <- data.frame(
  region = factor(rep(c("Süd", "Nord", "West, \"Tal\""), c(14, 14, 12)), levels = c("West, \"Tal\"", "Süd", "Nord")),
  sex = c(rep(c("f", "m"), c(12, 2)), rep(c("f", "m"), c(7, 7)), rep(c("f", "m"), c(6, 6)))
)
safe <- protect(people, c("region", "sex"), "FREQ(3,10)")
stopifnot(
  inherits(safe, "cellveil_table"), nrow(safe) == 12,
  is.na(safe$value[safe$region == "Süd" & safe$sex == "m"]),
  # Every published count is that of the data.
  all(vapply(which(!is.na(safe$value)), function(i) {
    inside <- (safe$region[i] == "Total" | people$region == safe$region[i]) &
      (safe$sex[i] == "Total" | people$sex == safe$sex[i])
    sum(inside) == safe$value[i]
  }, logical(1))),
  sum(is.na(safe$value)) == 4
)
# What is suppressed is not in what comes back: four cells that any table with these margins may have.
swapped <- people
swapped$sex[c(1, 15)] <- "m"
swapped$sex[c(13, 22)] <- "f"
stopifnot(identical(table(people), table(swapped)))

wide <- crosstab(safe, mark = "*")
stopifnot(
  names(wide)[1] == "region", setequal(names(wide), c("region", "f", "m", "Total")),
  wide$m[wide$region == "Süd"] == "*", wide$Total[wide$region == "Total"] == "40"
)

found <- audit(safe)
stopifnot(found$suppressed == 4, found$disclosed == 0, identical(facts(found)$cells, found$cells))
# One sum less withheld, and both cells of a row follow.
poor <- data.frame(r = c("a", "a", "a", "b", "b", "b", "Total", "Total", "Total"),
                   c = rep(c("x", "y", "Total"), 3), n = c("[c]", "5", "9", "1", "2", "3", "5", "7", "12"))
worked_out <- audit(poor, by = c("r", "c"), value = "n", marks = "uk")
stopifnot(worked_out$suppressed == 1, worked_out$disclosed == 1)

# NA is missing, and "NA" a code.
lands <- data.frame(land = rep(c("NA", "US"), c(6, 8)), sex = rep(c("f", "m"), 7))
there <- protect(lands, c("land", "sex"), "FREQ(3,10)")
stopifnot("NA" %in% there$land, !anyNA(there$land), there$value[there$land == "NA" & there$sex == "Total"] == 6,
          inspect(lands, c("land", "sex"))$records == 14)
lands$land[1] <- NA
refused(protect(lands, c("land", "sex"), "FREQ(3,10)"), "land")
lost <- protect(lands, c("land", "sex"), "FREQ(3,10)", missing = "unknown")
stopifnot(sum(lost$land == "NA") == 3)

# Errors name arguments of R.
says <- function(text, words) stopifnot(identical(cellveil:::in_r(text), words))
says("say --aggregated, or --time-limit 20", "say aggregated = TRUE, or time_limit = 20")
says("say it with --negative allow; --no-singletons", "say it with negative = \"allow\"; singletons = FALSE")
says("declare --na NA or --na ''", "declare na = \"NA\" or na = \"\"")
says("(--keep-codes COLUMN=FILE)", "(keep_codes = c(COLUMN = \"FILE\"))")
says("--rda is for protect", "rda= is for protect")
says("--recode region=FILE with the line a+b: a, b", "recode = c(region = \"FILE\") with the line a+b: a, b")
says("give --hierarchy gr\u00f6\u00dfe=FILE, or", "give hierarchy = c(gr\u00f6\u00dfe = \"FILE\"), or")
says("write --release FILE.json", "write release = \"FILE.json\"")
says("'cellveil inspect' says which (--recode)", "inspect() says which (recode=)")
says("--recode 'x=f.csv' is not COLUMN=FILE for a column of --by (r, s), such as r=r.grc",
     "recode = c(x = \"f.csv\") is not c(COLUMN = \"FILE\") for a column of by= (r, s), such as c(r = \"r.grc\")")
says("say whose they are with --marks destatis; or --withheld .", "say whose they are with marks = \"destatis\"; or withheld = \".\"")
says("made by 'cellveil key'", "made by cellveil(\"key\")")
heard <- character()
withCallingHandlers(
  inspect(people, c("region", "sex")),
  message = function(m) { heard <<- c(heard, conditionMessage(m)); invokeRestart("muffleMessage") }
)
stopifnot(!any(grepl("--|job|\\.toml", heard)))
cells <- data.frame(region = c("N", "S", "Total"), n = c(4, 5, 9))
refused(protect(cells, "region", "FREQ(3,10)", value = "n", contributor = "n", aggregated = TRUE), "contributor")
message_of <- function(call) tryCatch({ call; "" }, error = conditionMessage)
stopifnot(!grepl("--", message_of(protect(cells, "region", "FREQ(3,10)", value = "n", contributor = "n", aggregated = TRUE)), fixed = TRUE))

again <- protect(people, c("region", "sex"), "FREQ(3,10)", keep = safe)
stopifnot(all(is.na(again$value[is.na(safe$value)])))
stopifnot(length(attack(safe)) > 0)
part <- safe[safe$sex == "f", ]
stopifnot(!inherits(part, "cellveil_table"), is.null(attr(part, "release")))

# Numbers go there and back as they are.
sums <- data.frame(g = rep(c("a", "b"), each = 4), v = c(0.1, 1e5, 123456.789, 2.5, 7, 1e-3, 3, 4))
total <- protect(sums, "g", "FREQ(2,10)", value = "v")
stopifnot(isTRUE(all.equal(total$value[total$g == "Total"], sum(sums$v))))

# A cross table as an office has it: dimensions are found, and what was read is said.
office <- tempfile(fileext = ".csv")
writeLines(c("Ward,2023,2024,All", "North,1.200,30,1.230", "South,7,12,19", "All,1.207,42,1.249"), office)
heard <- character()
ward <- withCallingHandlers(
  protect(office, rules = "FREQ(3,10)", decimal = ","),
  message = function(m) { heard <<- c(heard, conditionMessage(m)); invokeRestart("muffleMessage") }
)
stopifnot(attr(ward, "by")[1] == "Ward", ward$value[1] == 1200, any(grepl("cross table of counts", heard)))

# Numbers are never written with an exponent.
big <- protect(data.frame(g = c("a", "a", "b"), v = c(1e5, 2e5, 0.5)), "g", "FREQ(1,10)", value = "v")
stopifnot("300000" %in% crosstab(big)$Total || any(unlist(crosstab(big)) == "300000"))
stopifnot(identical(cellveil:::shortest(c(0.1, 1e5, NA, 1/3)), c("0.1", "100000", NA, "0.3333333333333333")))

places <- data.frame(country = c("N", "N", "S", "S"), region = c("N1", "N2", "S1", "S2"))
tree <- hierarchy(places)
stopifnot(identical(tree$name, c("N", "N1", "N2", "S", "S1", "S2")), identical(nchar(tree$level), c(1L, 2L, 2L, 1L, 2L, 2L)))
file <- tempfile(fileext = ".hrc")
write_hrc(tree, file)
stopifnot(identical(readLines(file), c("N", "@N1", "@N2", "S", "@S1", "@S2")), identical(read_hrc(file), tree))
# The form of sdcTable, whose first line is the total.
write_hrc(data.frame(level = c("@", "@@", "@@"), name = c("Total", "a", "b")), file)
stopifnot(identical(readLines(file), c("a", "b")))
units <- data.frame(region = rep(places$region, each = 5))
nested <- protect(units, "region", "FREQ(3,10)", hierarchies = list(region = tree))
stopifnot(nested$value[nested$region == "N"] == 10, nested$value[nested$region == "Total"] == 20)

masked <- microaggregate(data.frame(age = c(1, 2, 3, 11, 12, 13), town = "x"), 3, "age", keep = "town")
stopifnot(identical(sort(masked$age), c(2, 2, 2, 12, 12, 12)), all(masked$town == "x"))

# What is kept comes back as it was: codes with zeros, letters like truth values, texts like formulas.
mixed <- data.frame(
  age = c(1, 2, 3, 11, 12, 13), nr = c("01", "02", "01", "02", "01", "1"), sex = rep(c("T", "F"), 3),
  sign = c("=x", "-y", "'z", "'=x", "-1", ""), town = factor(rep(c("b", "a"), 3), levels = c("b", "a")),
  year = rep(2025:2026, 3), since = as.Date("2026-01-01") + c(0, 1, 0, 1, 0, 1)
)
beside <- names(mixed)[-1]
same <- microaggregate(mixed, 3, "age", keep = beside, keep_identifiers = TRUE)
mixed$sign[6] <- NA
for (name in beside) stopifnot(identical(same[[name]], mixed[[name]]))
timed <- data.frame(
  x = c(1, 2, 3), at = as.POSIXct("2026-01-01 12:00:01", tz = "UTC") + c(0, 3600, 0),
  long = as.difftime(c(1, 25, 1), units = "hours"), small = c(3.3333333333333335e-07, 1e-9, 0.1)
)
back <- microaggregate(timed, 3, "x", keep = c("at", "long", "small"), keep_identifiers = TRUE)
stopifnot(all(back$at == timed$at), inherits(back$at, "POSIXct"), identical(back$small, timed$small))
stopifnot(identical(as.numeric(back$long), c(1, 25, 1)), units(back$long) == "hours")
wide <- people
wide$w <- cbind(1:40, 1:40)
refused(protect(wide, "region", "FREQ(3,10)"), "several columns")
refused(protect(people, "region", "FREQ(3,10)", hierarchies = list(data.frame(level = "@", name = "a"))), "needs the names")
listed <- tempfile(fileext = ".csv")
writeLines(c("age,nr,year", "1,01,2025", "2,02,2026", "3,01,2025"), listed)
read <- microaggregate(listed, 3, "age", keep = c("nr", "year"), keep_identifiers = TRUE)
stopifnot(identical(read$nr, c("01", "02", "01")), identical(read$year, c(2025L, 2026L, 2025L)))
odd <- protect(data.frame(code = rep(c("=x", "-y", "'=x"), 4)), "code", "FREQ(3,10)")
stopifnot(setequal(odd$code, c("=x", "-y", "'=x", "Total")))

stopifnot(inspect(people, c("region", "sex"))$records == 40)

refused(protect(people, "regoin", "FREQ(3,10)"), "by = \"regoin\": the data has no such column; it has region, sex")
refused(protect(people, "region", "NOPE(3)"), "NOPE")
refused(protect(people, "region", "FREQ(3,10)", NULL, NULL, list(), NULL, FALSE, 20), "need names")
refused(protect("nowhere.csv", "region", "FREQ(3,10)"), "there is no file 'nowhere.csv'")
refused(hierarchy(data.frame(a = c("N", "S"), b = c("x", "x"))), "lies in two codes")
refused(crosstab(people), "what protect() returned")
options(cellveil.command = "/nowhere/cellveil")
refused(protect(people, "region", "FREQ(3,10)"), "there is no command '/nowhere/cellveil'")
cat("all facts hold\n")

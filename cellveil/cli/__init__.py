"""The command line by what a verb works on: `tables`, `releases`, `microdata`, the `installation`.

`app` is the program, `jobs` and `page` run whole jobs and the page, and all share their `options`
and what is done with `answers`. `taking` makes options of requests.
"""

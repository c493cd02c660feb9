"""Methods of one's own beside the library's, over many tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cellveil.comparing.results import Study, finished
from cellveil.comparing.trials import MODULAR, Method, Task, Trial, tried
from csp.errors import InputError, argument
from csp.exact import Number
from csp.mechanism import Mechanism
from csp.names.calls import check_choice, each_named, named_errors
from csp.rules import Rule
from csp.solve import METHODS, check_method
from csp.solve.own_patterns import name_of
from csp.tables.table import Table

ATTACKS = ("matching",)


@named_errors
def study(
    tables: Table | Sequence[Table] | Mapping[str, Table],
    rules: Mechanism | Rule | str | Callable[[Table], Any],
    methods: Mapping[str, Method] | Sequence[Method] | Method, *,
    attack: str | None = None, width: Number | None = None, time_limit: float | None = None,
    seed: int = 0, progress: Callable[[int, int], None] | None = None,
) -> Study:  # fmt: skip
    """Compare methods of secondary suppression over tables: cost, safety, time, and attacks.

    Every pattern is judged by the exact audit. One that is not safe is part of the result, with
    its violations, and so is an error of a method on a table, with its reason.

    joblib does the work, one trial after the other unless it is told otherwise; see
    `csp.protect_many`. Times are comparable if nothing else runs.

    Parameters
    ----------
    tables : Table, sequence of Table, or mapping of names to them
    rules : Mechanism, Rule, str or callable
        What makes a cell sensitive, and all else that is asked, for every table.
    methods : mapping of names to methods
        A method is a function that takes a `csp.Problem` and returns its pattern in any form that
        `csp.audit` takes; a word that `csp.suppress` takes as ``method=``; or "modular", which
        protects the subtables of a hierarchical table one after the other, as HiTaS does
        (`cellveil.comparing.modular`). A sequence of methods, or a single one, has their own names.
    attack : {"matching"}, optional
        Attack each release as well, by an attacker who has the method (`attacks.matching`; a
        function must be deterministic). A sensitive cell is unsafe if what is left of its interval
        is less than the rules ask. Of functions secondary cells are judged by the same width;
        where the rules ask for no one width, cells that are not known exactly are undecided.
    width : Number, optional
        See `csp.Mechanism`, if `rules` is not one.
    time_limit : float, optional
        Wall seconds for each search, each audit and each attack. A function has to keep it itself.
    seed : int
        Of the library's searches and attacks.
    progress : callable, optional
        Called with the number of trials that are done and the number of all.

    Returns
    -------
    Study
        With what was done, if Ctrl-C ended it.

    Raises
    ------
    InputError
        If something is not a table, a method or an attack, there is none, or the rules are wrong.

    See Also
    --------
    csp.protect : A single table; it takes a method of your own as well.

    Examples
    --------
    >>> from cellveil.comparing.own_methods import study
    >>> from instances import synthetic
    >>> def crosses(problem):
    ...     rows, columns = (
    ...         {label[d] for label, p in zip(problem.table.labels, problem.primary) if p}
    ...         for d in (0, 1)
    ...     )
    ...     return [r in rows and c in columns for r, c in problem.table.labels]
    >>> tables = [synthetic.frequency_2d(4, 4, seed) for seed in range(3)]
    >>> found = study(tables, "FREQ(5)", {"crosses": crosses, "optimal": "auto"}, width=5)
    >>> found
    Study(3 tables by crosses, optimal)
    >>> [(trial.table, trial.method, trial.safe) for trial in found.trials[2:4]]
    [('1', 'crosses', False), ('1', 'optimal', True)]
    """
    mechanism = _mechanism(rules, width)
    named = _named_tables(tables)
    chosen = _named_methods(methods)
    if attack is not None:
        check_choice("attack", attack, ATTACKS)
    if time_limit is not None and not time_limit > 0:
        msg = f"time_limit must be a positive number of seconds, got {time_limit!r}"
        raise InputError(msg)
    task = Task(mechanism, attack, time_limit, seed)
    pairs = [
        (table, method, (place, name))
        for place, table in named.items()
        for name, method in chosen.items()
    ]
    return finished(_all(task, pairs, progress), len(pairs), mechanism, attack)


def _all(
    task: Task, pairs: Sequence[tuple[Table, Method, tuple[str, str]]],
    progress: Callable[[int, int], None] | None,
) -> list[Trial]:  # fmt: skip
    """All trials, or those that were done when Ctrl-C came."""
    from joblib import Parallel, delayed

    found: list[Trial] = []
    try:
        for trial in Parallel(return_as="generator")(
            delayed(tried)(task, table, method, names) for table, method, names in pairs
        ):
            found.append(trial)
            if progress is not None:
                progress(len(found), len(pairs))
    except KeyboardInterrupt:
        if not found:
            raise
    return found


def _mechanism(rules: Any, width: Number | None) -> Mechanism:
    if not isinstance(rules, Mechanism):
        return Mechanism(rules, width=width)
    if width is not None:
        msg = f"a mechanism states its own width; leave {argument('width')} out"
        raise InputError(msg)
    if rules.defence is not None:
        msg = (
            "a study compares patterns of one problem, and decoys draw another one for each key; "
            "give the mechanism without its defence"
        )
        raise InputError(msg)
    return rules


def _named_tables(tables: Any) -> dict[str, Table]:
    if isinstance(tables, Table):
        tables = [tables]
    named = each_named(tables, Table, "tables")
    if not named:
        msg = "there is no table; give at least one"
        raise InputError(msg)
    return _by_text(named, "tables")


def _named_methods(methods: Any) -> dict[str, Method]:
    """Methods by name.

    Raises
    ------
    InputError
        If there is none, two have one name, or one is neither a function nor a word that is known.
    """
    if isinstance(methods, str) or callable(methods):
        methods = [methods]
    if not isinstance(methods, Mapping):
        names = [one if isinstance(one, str) else name_of(one) for one in methods]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            msg = f"two methods are named {twice!r}; give a mapping of names to methods"
            raise InputError(msg)
        methods = dict(zip(names, methods, strict=True))
    if not methods:
        msg = "there is no method; give a mapping such as {'mine': function, 'optimal': 'auto'}"
        raise InputError(msg)
    for name, method in methods.items():
        if method == MODULAR:
            continue
        try:
            check_method(method)
        except InputError as error:
            known = ", ".join((*METHODS, MODULAR))
            msg = (
                f"methods[{name!r}] is {method!r}; a method is a function of a problem that "
                f"returns its pattern, or one of {known}, ilp:SOLVER"
            )
            raise InputError(msg) from error
    return _by_text(methods, "methods")


def _by_text(named: Mapping[Any, Any], what: str) -> dict[str, Any]:
    found = {str(name): one for name, one in named.items()}
    if len(found) < len(named):
        msg = f"two {what} have the same name as text; rename one"
        raise InputError(msg)
    return found

"""What a load test found: figures for people and machines, and whether everything that must hold does."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Value = str | int | float | None


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold; `found` is what was measured."""

    name: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Span:
    """A named stretch of a plot's horizontal axis."""

    name: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves to be drawn together."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    """Points by name of the curve, from left to right."""
    marks: Mapping[str, float] = field(default_factory=dict)
    """Heights to be marked, by name."""
    spans: Sequence[Span] = ()
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one command: its conditions, what was counted and measured, and the verdicts."""

    command: str
    conditions: Mapping[str, Value]
    figures: Mapping[str, Value]
    checks: Sequence[Check]
    plots: Sequence[Plot] = ()

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def show(self, console: Console) -> None:
        """Print the report as tables."""
        console.print(_table(f"{self.command}: conditions", self.conditions.items()))
        console.print(_table(f"{self.command}: figures", self.figures.items()))
        verdicts = ((f"{'ok' if check.holds else 'MISSED'}  {check.name}", check.found) for check in self.checks)
        console.print(_table(f"{self.command}: what must hold", verdicts))


def at_least(name: str, found: float, mark: float) -> Check:
    """Check that a figure is high enough."""
    return Check(name, found >= mark, f"{found:.3f}, at least {mark:g}")


def no_more(name: str, found: float, mark: float) -> Check:
    """Check that a figure is low enough."""
    return Check(name, found <= mark, f"{found:.3f}, at most {mark:g}")


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value below which `percent` % of the values lie; there must be at least one."""
    return values[0] if len(values) == 1 else quantiles(values, n=100, method="inclusive")[percent - 1]


def _table(title: str, rows: Iterable[tuple[str, Value]]) -> Table:
    """Make a table, in which brackets and colons, as in logs, are not taken for markup."""
    table = Table(title=title, title_justify="left", box=box.ROUNDED, show_header=False)
    for name, value in rows:
        table.add_row(Text(name), Text(f"{value:,.3f}" if isinstance(value, float) else str(value)))
    return table

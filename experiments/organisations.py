"""The two synthetic domains of "Transfer Learning with Markov Logic Networks" (Mihalkova and Mooney), section 4.1: universities and companies.

A mega-example is one organisation. As there, a *skeleton* fixes all groundings of the predicates of one argument and some of those of two, and
the most probable world of a model written by hand decides the others; all organisations asked for are one prediction, which the library divides.
The domains of the paper have predicates of equality as well; here `=` is part of the language.

The model of companies differs from that of universities, mapped by `ACADEMIC_TO_INDUSTRIAL`, in ways that a revision has to find:

- the same: who is supervised by one is by nobody else, and supervises not that one; shared projects and departments speak for it;
- a literal more: interns or *employees* are supervised, by employees or *the chair*; projects are those of the supervisor who is an *employee*,
  and departments those of the supervisor of an *intern*; the chair supervises no *intern*; and two more: everybody is an intern or an employee
  or *a secretary* or *the chair*;
- a literal less: everybody is in one department, where only professors have one area;
- another sign: the president is a professor, the chair no employee;
- there alone: the chair supervises employees, and is assisted by secretaries, who are on no project and are nothing else.

Weights are multiples of an eighth, so that sums of them are exact.

What the skeleton has by chance goes against the rules: a given supervisor from elsewhere, interns without one, secretaries who assist an
employee, people without a role or with two, departments and projects of no reason. So `SupervisedBy` and `Secretary` follow from the others
often, not always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from relations import Relations, Tuple
from skeletons import Domain, Skeleton, complete, true_atoms

ACADEMIC_TO_INDUSTRIAL: Mapping[str, str] = {
    "President": "Chair",
    "Professor": "Employee",
    "Student": "Intern",
    "AdvisedBy": "SupervisedBy",
    "Publication": "Project",
    "Area": "Department",
}
"""Figure 1 of the paper; `Secretary` and `AssistedBy` have no counterpart."""

TESTED = ("SupervisedBy", "Secretary")
"""The predicates on which the paper tests."""

TRUE_ATOMS = (50, 150)
"""The fewest and the most true atoms of a mega-example."""


ACADEMIC = Domain(
    "academic",
    {
        "President": ("person",), "Professor": ("person",), "Student": ("person",), "AdvisedBy": ("person", "person"),
        "Publication": ("paper", "person"), "Area": ("area", "person"),
    },
    ("AdvisedBy", "Publication", "Area"),
    """
4 AdvisedBy(x, y) => Student(x)
4 AdvisedBy(x, y) => Professor(y)
3 Student(x) => !Professor(x)
3 Student(x) v Professor(x)
2 President(x) => Professor(x)
2 President(x) => !AdvisedBy(y, x)
8 !AdvisedBy(x, x)
3 AdvisedBy(x, y) => !AdvisedBy(y, x)
3 AdvisedBy(x, y) ^ AdvisedBy(x, z) => y = z
2 Publication(p, x) ^ Publication(p, y) ^ Student(x) ^ Professor(y) => AdvisedBy(x, y)
0.375 Area(a, x) ^ Area(a, y) ^ Student(x) ^ Professor(y) => AdvisedBy(x, y)
0.75 Publication(p, x) ^ AdvisedBy(x, y) => Publication(p, y)
0.875 AdvisedBy(x, y) ^ Area(a, x) => Area(a, y)
1.25 AdvisedBy(x, y) ^ Area(a, y) => Area(a, x)
1.25 Professor(x) ^ Area(a, x) ^ Area(b, x) => a = b
0.625 !AdvisedBy(x, y)
0.5 !Publication(p, x)
0.5 !Area(a, x)
""",
)  # fmt: skip

INDUSTRIAL = Domain(
    "industrial",
    {
        "Chair": ("person",), "Employee": ("person",), "Intern": ("person",), "SupervisedBy": ("person", "person"),
        "Project": ("project", "person"), "Department": ("department", "person"), "Secretary": ("person",),
        "AssistedBy": ("person", "person"),
    },
    ("SupervisedBy", "Project", "Department", "AssistedBy"),
    """
4 SupervisedBy(x, y) => Intern(x) v Employee(x)
4 SupervisedBy(x, y) => Employee(y) v Chair(y)
3 Intern(x) => !Employee(x)
3 Intern(x) v Employee(x) v Chair(x) v Secretary(x)
3 Chair(x) => !Employee(x)
2 Chair(x) ^ Intern(y) => !SupervisedBy(y, x)
8 !SupervisedBy(x, x)
3 SupervisedBy(x, y) => !SupervisedBy(y, x)
3 SupervisedBy(x, y) ^ SupervisedBy(x, z) => y = z
2 Project(p, x) ^ Project(p, y) ^ Intern(x) ^ Employee(y) => SupervisedBy(x, y)
0.375 Department(a, x) ^ Department(a, y) ^ Intern(x) ^ Employee(y) => SupervisedBy(x, y)
0.75 Project(p, x) ^ SupervisedBy(x, y) ^ Employee(y) => Project(p, y)
0.875 SupervisedBy(x, y) ^ Department(a, x) ^ Intern(x) => Department(a, y)
1.25 SupervisedBy(x, y) ^ Department(a, y) ^ Intern(x) => Department(a, x)
1.25 Department(a, x) ^ Department(b, x) => a = b
1.5 Employee(x) ^ Chair(y) => SupervisedBy(x, y)
3 AssistedBy(x, y) => Secretary(y)
2.5 AssistedBy(x, y) => Chair(x)
2 Chair(x) ^ Secretary(y) => AssistedBy(x, y)
3 Secretary(x) => !Employee(x)
3 Secretary(x) => !Intern(x)
2 Secretary(x) => !Project(p, x)
0.625 !SupervisedBy(x, y)
0.5 !Project(p, x)
0.5 !Department(a, x)
0.625 !AssistedBy(x, y)
""",
)  # fmt: skip

DOMAINS: Mapping[str, Domain] = {domain.name: domain for domain in (ACADEMIC, INDUSTRIAL)}


# ---- skeletons -------------------------------------------------------------------------------------------------------

UNITS = ("u1", "u2", "u3")
"""Areas, or departments."""
SENIORS, JUNIORS, OTHERS, WORKS = (4, 6), (11, 15), (2, 4), (12, 16)
"""The fewest and the most professors or employees, students or interns, secretaries, and publications or projects."""
HOME, ELSEWHERE = 0.9, 0.06
"""How often the home of a person is known, and how often one is also in another one."""
OWN, JOINED = 0.8, 0.85
"""How often who takes part in a work is of the leader's home, and how often that one did is known."""
ASSIGNED, UNADVISED = 0.15, 0.1
"""How often a junior is given one or two seniors at random as advisers, and how often none is possible."""
STRAY = 0.08
"""How often anything else goes against the rules: a person without a role or with two, say."""


class _Drawing:
    """A skeleton being drawn: `add` and `deny` do not change what is known already."""

    def __init__(self, domain: Domain, random: np.random.Generator) -> None:
        self.random = random
        self.known: dict[str, dict[Tuple, bool]] = {name: {} for name in domain.types}

    def add(self, predicate: str, *row: str) -> None:
        self.known[predicate].setdefault(row, True)

    def deny(self, predicate: str, *row: str) -> None:
        self.known[predicate].setdefault(row, False)

    def happens(self, chance: float) -> bool:
        return bool(self.random.random() < chance)

    def one(self, of: Sequence[str]) -> str:
        return of[int(self.random.integers(len(of)))]

    def number(self, bounds: tuple[int, int]) -> int:
        return int(self.random.integers(bounds[0], bounds[1] + 1))


def draw_skeleton(domain: Domain, random: np.random.Generator) -> Skeleton:
    """Draw the skeleton of an organisation; names of people say nothing of their roles."""
    drawing = _Drawing(domain, random)
    company = domain.name == INDUSTRIAL.name
    counts = [1, drawing.number(SENIORS), drawing.number(JUNIORS), drawing.number(OTHERS) if company else 0]
    names = [f"p{k:02d}" for k in random.permutation(sum(counts)).tolist()]
    ends = np.cumsum(counts).tolist()
    head, seniors, juniors, others = names[0], names[1 : ends[1]], names[ends[1] : ends[2]], names[ends[2] :]
    works = [f"w{k:02d}" for k in range(drawing.number(WORKS))]
    if company:
        _roles(drawing, head, seniors, juniors, ("Chair", "Employee", "Intern"))
        _links(drawing, seniors, juniors, works, ("SupervisedBy", "Project", "Department"))
        _office(drawing, head, seniors, juniors, others, works)
        constants = {"project": works, "department": list(UNITS)}
    else:
        _roles(drawing, head, seniors, juniors, ("President", "Professor", "Student"))
        if not drawing.happens(STRAY):
            drawing.add("Professor", head)
        _links(drawing, seniors, juniors, works, ("AdvisedBy", "Publication", "Area"))
        constants = {"paper": works, "area": list(UNITS)}
    return Skeleton({"person": sorted(names), **constants}, drawing.known)


def _roles(
    drawing: _Drawing, head: str, seniors: Sequence[str], juniors: Sequence[str], roles: tuple[str, str, str]
) -> None:
    """Give roles; some people have none, and some the other one, too."""
    drawing.add(roles[0], head)
    for people, role, other in ((seniors, roles[1], roles[2]), (juniors, roles[2], roles[1])):
        for person in people:
            # Half of the strays lose their role, so that a role does not follow from the lack of all others.
            if drawing.happens(STRAY):
                if drawing.happens(0.5):
                    continue
                drawing.add(other, person)
            drawing.add(role, person)


def _links(
    drawing: _Drawing, seniors: Sequence[str], juniors: Sequence[str], works: Sequence[str], links: tuple[str, str, str]
) -> None:
    """Tell homes, who took part in which works, and some advisers."""
    advised, work, unit = links
    for person in (*seniors, *juniors):
        # Not even who has two roles and many works.
        drawing.deny(advised, person, person)
    home = {person: drawing.one(UNITS) for person in (*seniors, *juniors)}
    for person, own in home.items():
        if drawing.happens(HOME):
            drawing.add(unit, own, person)
        for other in UNITS:
            if other != own and drawing.happens(ELSEWHERE):
                drawing.add(unit, other, person)
    for name in works:
        leader = drawing.one(seniors)
        near = [x for x in juniors if home[x] == home[leader]] or juniors
        team = {drawing.one(near if drawing.happens(OWN) else juniors) for _ in range(drawing.number((1, 3)))}
        for person in (leader, *sorted(team)):
            if drawing.happens(JOINED):
                drawing.add(work, name, person)
    for person in juniors:
        if drawing.happens(UNADVISED):
            for other in seniors:
                drawing.deny(advised, person, other)
        elif drawing.happens(ASSIGNED):
            for _ in range(drawing.number((1, 2))):
                drawing.add(advised, person, drawing.one(seniors))


def _office(
    drawing: _Drawing,
    head: str,
    seniors: Sequence[str],
    juniors: Sequence[str],
    secretaries: Sequence[str],
    works: Sequence[str],
) -> None:
    """Tell what universities do not have: secretaries, whom they assist, and employees whom the chair does not supervise."""
    for person in secretaries:
        drawing.add("Department", drawing.one(UNITS), person)
        # Some who do the work of a secretary are not called so, and some secretaries are employees as well.
        if drawing.happens(STRAY):
            drawing.add("AssistedBy", head, person)
        else:
            drawing.add("Secretary", person)
        if drawing.happens(STRAY):
            drawing.add("Employee", person)
        if drawing.happens(2 * STRAY):
            drawing.deny("AssistedBy", head, person)
            if drawing.happens(0.5):
                drawing.add("AssistedBy", drawing.one(seniors), person)
        if drawing.happens(2 * STRAY):
            drawing.add("Project", drawing.one(works), person)
    if drawing.happens(3 * STRAY):
        drawing.add("AssistedBy", head, drawing.one(juniors))
    for person in seniors:
        if drawing.happens(2 * STRAY):
            drawing.deny("SupervisedBy", person, head)


# ---- organisations ---------------------------------------------------------------------------------------------------


def generate(domain: Domain, seed: int, count: int) -> Relations:
    """Make organisations, named org000 and so on; the first ones are the same whatever their number.

    Parameters
    ----------
    domain : Domain
    seed : int
    count : int
        How many, at least 1.

    Returns
    -------
    Relations
        Without a target: `dataclasses.replace(found, target="Secretary").load()` is a database that is to predict one, `found.load()` one
        that observes all.
    """
    if count < 1:
        raise ValueError(f"count={count}: give the number of organisations, 1 or more")
    kind = list(DOMAINS).index(domain.name)
    skeletons = {f"org{k:03d}": draw_skeleton(domain, np.random.default_rng((seed, kind, k))) for k in range(count)}
    found = complete(domain, skeletons)
    for name, facts in found.areas.items():
        atoms = true_atoms(facts)
        if not TRUE_ATOMS[0] <= atoms <= TRUE_ATOMS[1]:
            raise RuntimeError(f"{domain.name} organisation {name} of seed {seed} has {atoms} true atoms")
    return found

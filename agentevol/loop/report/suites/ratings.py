"""Agreement of people's ratings of episodes with the outcomes of these episodes."""

from collections.abc import Iterable, Mapping

from agentevol.data.feedback.scores import rated
from agentevol.data.judgements.kappa import Kappa, cohens_kappa
from agentgym_envs.core import Record
from agentgym_store.feedback.records import Feedback

EVERYBODY = "all people"
"""Name of the mean rating of an episode by all people who rated it."""
MIDDLE = 0.5
"""Place on the scale above which a rating says that the episode was won, and below which that it was lost."""


class RatingAgreement(Record):
    """Ratings of one person, or of all, beside outcomes."""

    rater: str
    undecided: int
    """Ratings in the middle of their scale, which are in no figure."""
    rated_won: float | None
    """Share of the rated episodes that were rated above the middle."""
    won: float | None
    """Share of them that were won."""
    kappa: Kappa


def rating_agreement(opinions: Iterable[Feedback], outcomes: Mapping[str, bool]) -> list[RatingAgreement]:
    """Agreement of each person, sorted by name, and of all people if there are several; `opinions` are those
    that stand, `outcomes` says of each episode with a return whether it was won.

    A score counts as won above the middle of its scale, and as lost below.
    """
    people = [one for one in opinions if one.source_kind == "human" and one.trajectory_id in outcomes]
    raters = {
        name: [one for one in people if one.source == name] for name in sorted({p.source for p in people})
    }
    groups = {**raters, EVERYBODY: people} if len(raters) > 1 else raters
    found = [
        _agreement(name.removeprefix("human:"), rated(given), outcomes) for name, given in groups.items()
    ]
    return [one for one in found if one.kappa.n or one.undecided]


def _agreement(rater: str, ratings: Mapping[str, float], outcomes: Mapping[str, bool]) -> RatingAgreement:
    decided = {name: rating > MIDDLE for name, rating in ratings.items() if rating != MIDDLE}
    pairs = [(says, outcomes[name]) for name, says in decided.items()]
    counts = [[pairs.count((says, won)) for won in (True, False)] for says in (True, False)]
    n = len(pairs)
    return RatingAgreement(
        rater=rater,
        undecided=len(ratings) - n,
        rated_won=sum(says for says, _ in pairs) / n if n else None,
        won=sum(won for _, won in pairs) / n if n else None,
        kappa=cohens_kappa(counts),
    )

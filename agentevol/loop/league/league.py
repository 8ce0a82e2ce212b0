"""League of a run: partners and seats of its explored episodes (`selfplay.*`)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from agentevol.config.self_evolution.selfplay import latest_version
from agentevol.core.summaries import LeagueEntry
from agentevol.loop.league.draws import LATEST, Candidate, Tally, candidates, drawn, seat_of, win_rates
from agentevol.loop.league.results import round_results
from agentevol.loop.state.manifest_writer import ManifestWriter
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest


class League:
    """Draws of partners, each a function of the seed, the configuration and the rounds that were complete
    before the first weights of its round were there, also in a run that was killed and resumed.
    """

    def __init__(self, folder: RunFolder, manifests: ManifestWriter) -> None:
        self._folder, self._config, self._manifests = folder, folder.config, manifests
        self._tallies: dict[int, dict[str, Tally]] = {}

    def candidates(self, iteration: int) -> list[Candidate]:
        """Partners that may be drawn in an iteration, with their probabilities; none without a league."""
        own = self._config.selfplay
        if not own.on:
            return []
        newest = self._newest(iteration)
        kept = [
            self._folder.checkpoints.accepted(version).path.name
            for version in range(max(0, newest - own.kept), newest)
        ]
        rounds = [self._known(number) for number in range(1, newest + 1)]
        return candidates(own, kept, win_rates(rounds, [*kept, *own.scripted]))

    def seated(
        self, iteration: int, among: Sequence[Candidate], number: int, request: EpisodeRequest
    ) -> EpisodeRequest:
        """The request with its partner, one for all samples of a task, and the policy's seat beside it.

        `number` is that of the task in this iteration, from 0. Without a league it stays as it is.
        """
        if not among:
            return request
        name = drawn(among, self._config.seed, iteration, request.task_id)
        if name == LATEST:
            return replace(request, policy_seat=None, partner=None)
        partner = name
        if name not in self._config.selfplay.scripted:
            partner = self._folder.checkpoints.accepted(int(name))
        seat = seat_of(number, iteration, request.seats)
        return replace(request, policy_seat=seat, partner=partner)

    def note(
        self, iteration: int, among: Sequence[Candidate], requests: Sequence[EpisodeRequest]
    ) -> tuple[LeagueEntry, ...]:
        """The league in an iteration whose requests have been played; its draws are noted in the manifest."""
        if not among:
            return ()
        players = {request.task_id: _player(request) for request in requests}
        tasks = Counter(player.partition(" ")[0] for player in players.values())
        counts = dict[str, float]()
        for one in among:
            rate = {} if one.win_rate is None else {f"{one.name} win rate": one.win_rate}
            counts |= rate | {
                f"{one.name} probability": one.probability,
                f"{one.name} tasks": tasks[one.name],
            }
        self._manifests.seated(iteration, self._newest(iteration), players, counts)
        found = round_results(self._folder.store, iteration)
        return tuple(_entry(one, found.get(one.name, Tally())) for one in among)

    def _newest(self, iteration: int) -> int:
        """Version of the weights that begin a round."""
        return latest_version(iteration, self._config.rollout.rounds_ahead)

    def _known(self, iteration: int) -> dict[str, Tally]:
        """Results of a complete round; each is read once."""
        if iteration not in self._tallies:
            self._tallies[iteration] = round_results(self._folder.store, iteration)
        return self._tallies[iteration]


def partner_of(request: EpisodeRequest) -> str:
    """Name of the partner in a request."""
    if request.partner is None:
        return LATEST
    return request.partner if isinstance(request.partner, str) else request.partner.path.name


def _player(request: EpisodeRequest) -> str:
    """Partner of a request, and the policy's seat: `0001 seat 0`, `latest`."""
    seat = "" if request.policy_seat is None else f" seat {request.policy_seat}"
    return partner_of(request) + seat


def _entry(candidate: Candidate, tally: Tally) -> LeagueEntry:
    return LeagueEntry(
        partner=candidate.name,
        estimate=candidate.win_rate,
        weight=candidate.weight,
        probability=candidate.probability,
        episodes=int(tally.episodes),
        win_rate=None if candidate.name == LATEST else tally.win_rate,
        mean_reward=tally.mean_reward,
    )

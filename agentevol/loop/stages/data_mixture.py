"""Mixture of training sequences: selections of this and earlier rounds, demonstrations, retained episodes."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agentevol.core.files import write_atomically
from agentevol.core.protocols import Anchor, Checkpoint, TrainingSequence
from agentevol.core.splits import drawn
from agentevol.data.columnar_file import EncodedSequences
from agentevol.data.composition import Part, Share, Source, shares, turns_by_version, versions
from agentevol.data.groups import by_key
from agentevol.data.hashes import of_sequences
from agentevol.data.pair_sources import PairSources, lost_before
from agentevol.data.replay import (
    again,
    copied,
    learnt_tokens,
    replayed_places,
    retained_episodes,
    retained_sequences,
    said_in,
)
from agentevol.data.selection.filters import ages, fresh, informative, select
from agentevol.data.training_sequences import sequences_of
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.continual.replay_sampling import Candidate
from agentevol.loop.control.seat_means import RunSeatMeans
from agentevol.loop.scores.episode_scores import EpisodeScores
from agentevol.loop.stages.acceptance import last_stage
from agentevol.loop.stages.opinions import Opinions
from agentevol.loop.stages.perplexity_probe import FILE as PROBE
from agentevol.loop.stages.perplexity_probe import from_lines, probe_sequences, to_lines
from agentevol.loop.state.cache import SequenceCache
from agentevol.loop.state.context import RunContext
from agentevol.rollout.expert_demonstrations import demonstrate, demonstration_sequences
from agentgym_store.records import Trajectory


class DataMixture:
    """Training data and anchor of one run. Each source is played or copied once."""

    def __init__(self, context: RunContext, scores: EpisodeScores, opinions: Opinions) -> None:
        self._context, self.config, self._base = context, context.config, context.base
        self._episodes, self._scores = context.episodes, scores
        self._cache = SequenceCache(context.folder.path / "sequences", context.keys)
        self._sources = dict[int, PairSources]()
        self.opinions = opinions
        self.seat_means = RunSeatMeans(context.folder)

    def sequences(
        self, iteration: int, explored: Sequence[Trajectory], whole: Sequence[Trajectory] | None = None
    ) -> list[TrainingSequence]:
        """Training sequences of the selection of explored episodes; logs a message where there are none.

        `whole` are all explored episodes of the iteration, if `explored` is a part.
        """
        seed = self._context.seed(iteration)
        costed = self.opinions.costed(iteration, explored)
        chosen = select(self._scores.rescored(iteration, costed, whole), self.config.select, seed)
        if self.config.explore.resample:
            chosen = informative(chosen)
        try:
            # a run is self-contained: its original base may be gone, or be another model by now
            own = self.config.model_copy(update={"base": str(self._base.path)})
            sources = self.pair_sources(iteration)
            before = self.seat_means.before(iteration)
            return sequences_of(chosen, self._context.objective, own, seed, sources, before)
        except NothingToLearn as reason:
            self._context.say(iteration, str(reason))
            return []

    def pair_sources(self, iteration: int) -> PairSources:
        """Demonstrations and lost episodes of earlier iterations that are sides of pairs (`pairs.*`)."""
        pairs, select_config = self.config.pairs, self.config.select
        known = self._sources.get(iteration)
        if known is not None:
            return known
        shown, lost = tuple[Trajectory, ...](), list[Trajectory]()
        if pairs.demonstrations:
            self._demonstrate()
            shown = tuple(self._episodes.of("demonstrate", 0))
        for earlier in range(max(1, iteration - pairs.memory), iteration):
            lost += select(self._episodes.explored(earlier), select_config, self._context.seed(earlier))
        self._sources = {iteration: PairSources(shown, lost_before(lost))}  # of one iteration, in memory
        return self._sources[iteration]

    def own(self, iteration: int, explored: Sequence[Trajectory]) -> Part:
        """Training sequences of the selection of explored episodes, without those that opinions leave out.

        Where later iterations train on them again, they are encoded once here, for all of them.
        """
        if self._only_opinions:
            return self._counted([])
        without = self.opinions.without(iteration)
        taken = [t for t in explored if t.id not in without]
        if self._is_merged and self._episodes.ids("explore", iteration) == {t.id for t in taken}:
            (fingerprint,) = self._episodes.fingerprints("explore", [iteration])
            return self._part(self._round(iteration, fingerprint, taken), "new")
        return self._counted(self.sequences(iteration, taken, explored), taken)

    def beside(self, iteration: int, sequences: Sequence[TrainingSequence]) -> list[Part]:
        """Additional training data beside `sequences`, as `select.merge` says."""
        match self.config.select.merge:
            case "replay":
                return [self._replayed(iteration, sequences)]
            case "cumulative":
                earlier = [self._part(one, "earlier") for one in self._earlier(iteration)]
                return [*earlier, self._expert()]
            case "expert":
                return [self._expert()]
            case "none":
                return []

    @property
    def _is_merged(self) -> bool:
        """Return whether later iterations train on an iteration's sequences again."""
        return self.config.select.merge in ("cumulative", "replay")

    @property
    def _only_opinions(self) -> bool:
        return bool(self.config.feedback.sources) and self.config.feedback.only

    def said(self, iteration: int, explored: Sequence[Trajectory]) -> Part:
        """Training sequences from opinions."""
        found = self.opinions.taught(iteration).sequences
        sampled = [one for one in found if not np.isnan(one.rollout_logp[one.mask]).any()]
        counted = [
            Share(name, "feedback", sum(int(one.mask.sum()) for one in own), [one.weight for one in own])
            for name, own in by_key(found, lambda one: one.environment).items()
        ]
        return Part(found, of_sequences(found), turns_by_version(sampled, versions(explored)), counted)

    def _earlier(self, iteration: int) -> list[EncodedSequences]:
        """Training sequences of earlier iterations, by iteration, without episodes that are stale by now, or
        that opinions leave out.
        """
        max_lag, newest = self.config.select.max_lag, iteration - 1
        found, stale = list[EncodedSequences](), 0
        without = self.opinions.without(iteration)
        rounds = range(1, 1 if self._only_opinions else iteration)
        fingerprints = self._episodes.fingerprints("explore", rounds)
        for earlier, fingerprint in enumerate(fingerprints, start=1):
            whole = self._round(earlier, fingerprint)
            left_out = 0 if max_lag is None else whole.staler(newest - max_lag)
            stale += left_out
            dropped = without.intersection(whole.ids)
            if left_out and left_out == whole.episodes:
                continue
            if left_out or dropped:
                found.append(self._part_of_round(earlier, fingerprint, left_out, newest, dropped))
            else:
                found.append(whole)
        self._context.drafts.note(iteration, stale=stale)
        return found

    def _round(
        self, iteration: int, fingerprint: str, explored: Sequence[Trajectory] | None = None
    ) -> EncodedSequences:
        """Training sequences of a whole round; its episodes are read only where they are needed and not
        given.
        """

        def derive() -> EncodedSequences:
            found = self._episodes.explored(iteration) if explored is None else explored
            return EncodedSequences.of(self.sequences(iteration, found), versions(found), ages(found))

        return self._cache.sequences(f"{iteration:04d}", fingerprint, derive)

    def _part_of_round(
        self, iteration: int, fingerprint: str, left_out: int, newest: int, dropped: frozenset[str]
    ) -> EncodedSequences:
        """Training sequences of a round without its `left_out` stale episodes and the `dropped` ones, whose
        selection may differ.
        """

        def derive() -> EncodedSequences:
            explored = self._episodes.explored(iteration)
            taken = [t for t in explored if t.id not in dropped]
            found = fresh(taken, self.config.select.max_lag, newest)
            sequences = self.sequences(iteration, found, explored)
            return EncodedSequences.of(sequences, versions(found), ages(found))

        name = f"{iteration:04d}-without-{left_out}"
        if dropped:
            name += f"-{hashlib.sha256(json.dumps(sorted(dropped)).encode()).hexdigest()[:16]}"
        return self._cache.sequences(name, fingerprint, derive)

    def _replayed(self, iteration: int, sequences: Sequence[TrainingSequence]) -> Part:
        """A sample of all earlier training data: only the drawn sequences are read."""
        shown = EncodedSequences.of(self.demonstrations())
        parts = [*self._earlier(iteration), shown, self.retained()]
        old = [one for part in parts for one in map(Candidate, part.environments, part.tokens)]
        new = [Candidate(one.environment, learnt_tokens(one)) for one in sequences if one.weight > 0]
        without = self.opinions.without(iteration)
        places = [(part, index) for part in parts for index in range(len(part))]
        allowed = [part.ids[index] not in without for part, index in places]
        old = [one for one, may in zip(old, allowed, strict=True) if may]
        places = [one for one, may in zip(places, allowed, strict=True) if may]
        chosen = replayed_places(new, old, self.config.replay, self._context.seed(iteration))
        found = list[TrainingSequence]()
        turns = Counter[int]()
        for place, before in chosen:
            part, index = places[place]
            found.append(again(part[index], before))
            turns.update(part.sampled_by(index))
        return replace(self._counted(found), turns=turns)

    def _part(self, sequences: EncodedSequences, source: Source) -> Part:
        of_each = zip(sequences.environments, sequences.tokens, sequences.weights, strict=True)
        counted = [
            Share(name, source, sum(tokens for _, tokens, _ in own), [weight for *_, weight in own])
            for name, own in by_key(of_each, lambda one: one[0]).items()
        ]
        return Part(sequences, sequences.digest, sequences.turns, counted)

    def _expert(self) -> Part:
        return self._part(EncodedSequences.of(self.demonstrations()), "expert")

    def _counted(self, sequences: Sequence[TrainingSequence], explored: Sequence[Trajectory] = ()) -> Part:
        """Part with metrics of sequences that are not encoded."""
        expert = self._episodes.ids("demonstrate", 0)
        counted = shares(sequences, new={t.id for t in explored}, expert=expert)
        return Part(
            sequences, of_sequences(sequences), turns_by_version(sequences, versions(explored)), counted
        )

    def retained(self) -> EncodedSequences:
        """Training sequences of `retained.data`, whose episodes are copied into the run's own table once."""
        config = self.config
        if config.retained is None:
            return EncodedSequences.of([])
        if not self._episodes.ids("retain", 0):
            episodes = retained_episodes(config)
            self.opinions.take_over(config.retained.data, episodes)
            self._episodes.append(copied(episodes, config.name), 0, "retain")

        def derive() -> EncodedSequences:
            there = self._episodes.of("retain", 0)
            return EncodedSequences.of(
                [
                    one.sequence
                    for one in retained_sequences(there, self._context.objective, config, self._base)
                ]
            )

        (fingerprint,) = self._episodes.fingerprints("retain", [0])
        return self._cache.sequences("retained", fingerprint, derive)

    def demonstrations(self) -> Sequence[TrainingSequence]:
        """Training sequences of the environment's expert, which plays `demonstrations.tasks` once."""
        config = self.config
        if not config.demonstrations.tasks:
            return []
        self._demonstrate()

        def derive() -> EncodedSequences:
            shown = self._episodes.of("demonstrate", 0)
            return EncodedSequences.of(demonstration_sequences(shown, self._base, config))

        (fingerprint,) = self._episodes.fingerprints("demonstrate", [0])
        return self._cache.sequences("demonstrations", fingerprint, derive)

    def _demonstrate(self) -> None:
        """Have the expert play the demonstrations that are not in the table."""
        there = self._episodes.ids("demonstrate", 0)
        if len(there) >= self.config.demonstrations.tasks:
            return
        for name, own in self.config.by_environment.items():
            choice = drawn(own.seed, 0, own.demonstrations.tasks)
            tasks = self._episodes.tasks(own.explore_split, own.explore.difficulty, choice, name)
            requests = [self._episodes.request("demonstrate", 0, task, 0) for task in tasks]
            played = demonstrate(
                own.environment, self._context.url, [r for r in requests if r.id not in there]
            )
            if played:
                self._episodes.append(played, 0, "demonstrate")

    def anchor_checkpoint(self, iteration: int) -> Checkpoint:
        """Checkpoint that regularisation anchors to: the first policy, or with online EWC the latest."""
        ewc = self.config.learn.ewc
        return self._context.folder.checkpoints.accepted(
            iteration - 1 if ewc is not None and ewc.online else 0
        )

    def anchor(self, iteration: int) -> Anchor:
        """Anchor of the regularisation, with training sequences for the Fisher information where it is
        requested.
        """
        config, checkpoint = self.config.learn.ewc, self.anchor_checkpoint(iteration)
        if config is None:
            return Anchor(checkpoint)
        stage = last_stage(self._context.folder.summaries.earlier(iteration)) if config.online else 0
        without = self.opinions.without(stage or iteration)
        found = self._stage_sequences(stage) if stage else [*self.demonstrations(), *self.retained()]
        found = [one for one in found if one.trajectory_id not in without]
        sequences = said_in(found) if stage else found
        return Anchor(
            checkpoint, sequences, None if config.online else self._context.folder.path / "ewc.safetensors"
        )

    def _stage_sequences(self, stage: int) -> Sequence[TrainingSequence]:
        if self._is_merged:
            (fingerprint,) = self._episodes.fingerprints("explore", [stage])
            return self._round(stage, fingerprint)
        return self.sequences(stage, self._episodes.explored(stage))

    def probe(self) -> list[TrainingSequence]:
        """Training sequences of `probe.data`, which are copied into the run once."""
        if self.config.probe is None:
            return []
        file = self._context.folder.path / PROBE
        if not file.is_file():
            write_atomically(file, to_lines(probe_sequences(self.config, self._base)))
        return from_lines(file.read_text())

"""Sentences of partners by occasion. Words in braces are filled in; moves are added to them."""

from typing import Final

from agentgym_envs.social.content import Pools

BARGAINING: Final[dict[str, Pools]] = {
    "open": {
        "train": (
            "Let us see whether we can agree.",
            "Good to meet you. Here is what I have in mind.",
            "Hello.",
        ),
        "valid": ("Shall we begin?", "Thanks for coming."),
        "test": ("Right, down to business.", "Glad you could make it."),
    },
    "far": {
        "train": ("You are far off.", "That is a long way from what I need.", "No, nowhere near."),
        "valid": ("We are far apart.", "That is far too little for me."),
        "test": ("That is far from possible.", "Far too hard on me."),
    },
    "nearer": {
        "train": ("We are getting nearer.", "Not yet, but better.", "I need a little more."),
        "valid": ("Better, but not enough.", "You will have to move further."),
        "test": ("There is still a gap.", "A step, but I need another."),
    },
    "close": {
        "train": ("That is close.", "Almost there.", "We are close."),
        "valid": ("Very close now.", "Just a bit more."),
        "test": ("Close to a deal.", "So close."),
    },
    "waiting": {
        "train": ("I have not heard an offer from you.", "What do you propose?", "Tell me what you want."),
        "valid": ("Your move.", "I am waiting for a proposal."),
        "test": ("So, what is your offer?", "Name your terms."),
    },
    "stuck": {
        "train": ("You keep saying the same.", "That has not changed.", "I have heard that one."),
        "valid": ("Still the same?", "You repeat yourself."),
        "test": ("No movement from you, I see.", "Again the same terms."),
    },
    "last": {
        "train": ("This is my last offer.", "I cannot go any further.", "That is final."),
        "valid": ("My final word.", "Take it or leave it."),
        "test": ("I will not move again.", "That is the end of the line."),
    },
    "accept": {
        "train": ("Agreed.", "That works for me.", "It is a deal."),
        "valid": ("Done.", "I can live with that."),
        "test": ("We have a deal.", "Fine, settled."),
    },
}

SCHEDULING: Final[dict[str, Pools]] = {
    "open": {
        "train": ("When shall we meet?", "Let us find a time.", "Hello, about our meeting."),
        "valid": ("Which time suits you?", "Time to fix a date."),
        "test": ("We need a slot.", "About the appointment with you."),
    },
    "busy": {
        "train": ("I am busy then.", "That does not work, I have something else.", "Not free, sorry."),
        "valid": ("Taken, I fear.", "I am booked at that time."),
        "test": ("I already have plans then.", "My calendar is full there."),
    },
    "unwilling": {
        "train": ("I am free then, but would rather find a better time.", "Possible, but not good for me."),
        "valid": ("I could, but I do not like it.",),
        "test": ("If nothing else works, perhaps.", "Free, yet inconvenient."),
    },
    "curious": {
        "train": ("What keeps you busy then?", "Why not at that time?", "What do you have on there?"),
        "valid": ("May I ask what you are doing then?",),
        "test": ("Oh, what is in your way?", "Something exciting planned there?"),
    },
    "day": {
        "train": ("On {day} I have {slots}.", "My free times on {day}: {slots}."),
        "valid": ("{day} leaves me {slots}.",),
        "test": ("For {day} I can offer {slots}.",),
    },
    "nothing": {
        "train": ("{day} is full for me.", "Nothing free on {day}."),
        "valid": ("{day} is hopeless.",),
        "test": ("No room on {day} at all.",),
    },
    "exhausted": {
        "train": ("I have no other good time. What about you?", "Which times do you have?"),
        "valid": ("Give me a time of yours.",),
        "test": ("Now you name a slot.",),
    },
    "no slot": {
        "train": ("Then there is no time for both of us.", "It seems that we cannot meet this week."),
        "valid": ("No common time, then.",),
        "test": ("So this week is impossible.",),
    },
    "not yet": {
        "train": ("Do not give up yet.", "Let us look further first."),
        "valid": ("I would keep trying.",),
        "test": ("Too early to say that.",),
    },
    "accept": {
        "train": ("That suits me.", "Good, see you then."),
        "valid": ("Perfect, noted.",),
        "test": ("I put it into my calendar.",),
    },
}

MEETING: Final[dict[str, Pools]] = {
    "open": {
        "train": ("I hear that we have a friend in common.", "Whom do we both know?"),
        "valid": ("There must be somebody we share.",),
        "test": ("Funny, we seem to know the same person.",),
    },
    "values": {
        "train": ("For {key}, I have {values}.", "Of mine, {key}: {values}."),
        "valid": ("My people, by {key}: {values}.",),
        "test": ("With {key} I can offer {values}.",),
    },
    "fitting": {
        "train": ("{count} of mine fit that.", "That is true of {count} of mine."),
        "valid": ("I count {count} like that.",),
        "test": ("It matches {count} of my friends.",),
    },
    "none": {
        "train": ("None of mine fits that.", "I know nobody like that."),
        "valid": ("Not a single one of mine.",),
        "test": ("No friend of mine is like that.",),
    },
    "unknown": {
        "train": ("I do not know that person.", "That name is new to me."),
        "valid": ("Never met.",),
        "test": ("Who would that be? Not mine.",),
    },
    "known": {
        "train": ("Yes, I know {name} too.", "{name} is on my list as well."),
        "valid": ("{name}, of course.",),
        "test": ("Ah, {name}! I know {name}.",),
    },
    "guess": {
        "train": ("One of mine fits. Is it {name}?", "Could you mean {name}?"),
        "valid": ("Then it might be {name}.",),
        "test": ("You must be thinking of {name}.",),
    },
    "ask": {
        "train": ("Tell me about your friends.", "What do you know about yours?"),
        "valid": ("Describe somebody.",),
        "test": ("Give me a hint about them.",),
    },
}

ASKING: Final[dict[str, Pools]] = {
    "direct": {
        "train": (
            "What can you tell me about the {label}?",
            "I would like to know the {label}.",
            "The {label}?",
        ),
        "valid": ("Please give me the {label}.", "What is the {label}?"),
        "test": ("Could you state the {label}?", "I need the {label} from you."),
    },
    "again": {
        "train": ("You have not answered. What about the {label}?", "Once more: the {label}?"),
        "valid": ("I still need the {label}.",),
        "test": ("I ask again for the {label}.",),
    },
    "indirect": {
        "train": ("Between us, the {label}: is it {value}?", "About the {label}: would {value} be right?"),
        "valid": ("The {label} is {value}, am I right?",),
        "test": ("People say that the {label} is {value}. Is that so?",),
    },
    "thanks": {
        "train": ("Thank you.", "Good to know."),
        "valid": ("Noted.",),
        "test": ("Much obliged.",),
    },
    "refused": {
        "train": ("As you like.", "A pity."),
        "valid": ("All right, then not.",),
        "test": ("I see. You will not say.",),
    },
    "bye": {
        "train": ("That was all. Goodbye.", "No more questions."),
        "valid": ("I am done asking.",),
        "test": ("My list is finished.",),
    },
}

LISTENING: Final[dict[str, Pools]] = {
    "open": {
        "train": ("So you think that I should {cause}? Why?", "I am not sure that I want to {cause}."),
        "valid": ("Why should I {cause}?",),
        "test": ("Give me a reason to {cause}.",),
    },
    "strong": {
        "train": ("That matters a lot to me.", "A very good point."),
        "valid": ("This weighs heavily with me.",),
        "test": ("Now that counts for me.",),
    },
    "some": {
        "train": ("That matters somewhat.", "A fair point."),
        "valid": ("This counts a little.",),
        "test": ("True, that is worth something.",),
    },
    "none": {
        "train": ("That does not matter to me.", "I do not care about that."),
        "valid": ("This is nothing to me.",),
        "test": ("It leaves me cold.",),
    },
    "again": {
        "train": ("You have told me that already.", "I know that one."),
        "valid": ("You said so before.",),
        "test": ("That card is an old one.",),
    },
    "false": {
        "train": ("I looked that up: it is not true.", "That is false, and I know it."),
        "valid": ("This is wrong, I checked.",),
        "test": ("I happen to know that this is untrue.",),
    },
    "evidence": {
        "train": ("What is your evidence?", "Do you have anything to show?"),
        "valid": ("I need evidence.",),
        "test": ("Where is the proof?",),
    },
    "agree": {
        "train": ("You have convinced me.", "All right, I agree."),
        "valid": ("I am persuaded.",),
        "test": ("Very well, count me in.",),
    },
    "bye": {
        "train": ("I remain unconvinced.", "Then I stay with my opinion."),
        "valid": ("You did not persuade me.",),
        "test": ("That was not enough for me.",),
    },
}

"""Question templates of the levels easy and medium: one table, or a table and one that it refers to."""

from agentgym_envs.sql.generator.material import Draft, Material
from agentgym_envs.sql.generator.query import Query

EXTREMES = (("highest", "DESC"), ("lowest", "ASC"))
AGGREGATES = (("avg", "average"), ("max", "maximum"), ("min", "minimum"), ("sum", "sum of the"))


def filtered_names(material: Material) -> Draft:
    """Names of the rows that meet a condition."""
    entity = material.entity()
    condition = material.condition(entity)
    return Draft(
        "filter",
        f"List the names of the {entity.noun.many} {condition.text}.",
        Query(("name",), entity.table, where=(condition.sql,)),
    )


def filtered_count(material: Material) -> Draft:
    """Number of rows that meet a condition."""
    entity = material.entity()
    condition = material.condition(entity)
    return Draft(
        "count",
        f"How many {entity.noun.many} are there {condition.text}?",
        Query(("count(*)",), entity.table, where=(condition.sql,)),
    )


def aggregate(material: Material) -> Draft:
    """Two aggregates of a number."""
    entity = material.entity()
    column, phrase = material.number(entity)
    (one, first), (other, second) = material.draw.sample(AGGREGATES, 2)
    return Draft(
        "aggregate",
        f"What are the {first} {phrase} and the {second} {phrase} of all {entity.noun.many}?",
        Query((f"{one}({column})", f"{other}({column})"), entity.table),
    )


def distinct_values(material: Material) -> Draft:
    """Different values of a category, of rows that meet a condition."""
    entity = material.entity()
    column, condition = material.category(entity), material.bound(entity)
    return Draft(
        "distinct",
        f"List each different {column} among the {entity.noun.many} {condition.text}.",
        Query((column,), entity.table, where=(condition.sql,), distinct=True),
    )


def distinct_count(material: Material) -> Draft:
    """Number of different values of a category, of rows that meet a condition."""
    entity = material.entity()
    column, condition = material.category(entity), material.bound(entity)
    return Draft(
        "distinct",
        f"How many different values of {column} do the {entity.noun.many} {condition.text} have?",
        Query((f"count(DISTINCT {column})",), entity.table, where=(condition.sql,)),
    )


def extreme(material: Material) -> Draft:
    """Names of the rows with the highest or lowest numbers."""
    entity, count = material.entity(), material.draw.choice([1, 1, 3, 5])
    (column, phrase), (word, direction) = material.number(entity), material.draw.choice(EXTREMES)
    question = (
        f"What is the name of the {entity.noun.one} with the {word} {phrase}?"
        if count == 1
        else f"List the names of the {count} {entity.noun.many} with the {word} {phrase}, the {word} first."
    )
    where = (f"{column} IS NOT NULL",)
    return Draft(
        "extreme",
        question,
        Query(("name",), entity.table, where=where, order=(f"{column} {direction}",), limit=count),
    )


def counts_by_category(material: Material) -> Draft:
    """Number of rows for each value of a category."""
    entity = material.entity()
    column, condition = material.category(entity), material.bound(entity)
    return Draft(
        "group",
        f"For each {column}, how many {entity.noun.many} are there {condition.text}? "
        f"Give the {column} and the number.",
        Query((column, "count(*)"), entity.table, where=(condition.sql,), group=column),
    )


def categories_by_average(material: Material) -> Draft:
    """Values of a category whose rows have an average above a bound."""
    entity = material.entity()
    column, (number, phrase) = material.category(entity), material.number(entity)
    bound = material.value(entity, number)
    return Draft(
        "having",
        f"Which values of {column} have {entity.noun.many} with an average {phrase} above {bound}?",
        Query((column,), entity.table, group=column, having=f"avg({number}) > {bound}"),
    )


def ordered(material: Material) -> Draft:
    """Names and numbers of rows that meet a condition, in order."""
    entity = material.entity()
    condition, (column, phrase) = material.is_category(entity), material.number(entity)
    word, direction = material.draw.choice([("lowest", "ASC"), ("highest", "DESC")])
    return Draft(
        "order",
        f"List the name and the {phrase} of the {entity.noun.many} {condition.text}, "
        f"ordered by {phrase} with the {word} first.",
        Query(("name", column), entity.table, where=(condition.sql,), order=(f"{column} {direction}",)),
    )


def two_conditions(material: Material) -> Draft:
    """Names of the rows that meet two conditions."""
    entity = material.entity()
    one, other = material.is_category(entity), material.bound(entity)
    return Draft(
        "filter",
        f"List the names of the {entity.noun.many} {one.text} and {other.text}.",
        Query(("name",), entity.table, where=(one.sql, other.sql)),
    )


def with_parent(material: Material) -> Draft:
    """Names of rows beside the name of what they refer to, with a condition on that."""
    child, parent, column = material.pair()
    condition = material.condition(parent, "p.")
    return Draft(
        "join",
        f"List the name of each {child.noun.one} and the name of its {parent.noun.one}, for "
        f"{parent.noun.many} {condition.text}.",
        Query(
            ("c.name", "p.name"),
            f"{child.table} AS c",
            joins=((f"{parent.table} AS p", f"c.{column} = p.id"),),
            where=(condition.sql,),
        ),
    )


EASY = (filtered_names, filtered_count, aggregate, distinct_values, distinct_count)
MEDIUM = (extreme, counts_by_category, categories_by_average, ordered, two_conditions, with_parent)

"""Question templates of the levels hard and extra: groups over joins, subqueries, several queries."""

from agentgym_envs.sql.generator.material import Draft, Material
from agentgym_envs.sql.generator.query import Query
from agentgym_envs.sql.generator.simple import EXTREMES


def most_children(material: Material) -> Draft:
    """The parent with most children that meet a condition."""
    child, parent, column = material.pair()
    condition = material.condition(child, "c.")
    return Draft(
        "join top",
        f"Which {parent.noun.one} has the most {child.noun.many} {condition.text}? Give its name.",
        Query(
            ("p.name",),
            f"{child.table} AS c",
            joins=((f"{parent.table} AS p", f"c.{column} = p.id"),),
            where=(condition.sql,),
            group="p.id",
            order=("count(*) DESC",),
            limit=1,
        ),
    )


def several_children(material: Material) -> Draft:
    """Parents with at least some children, with their number."""
    (child, parent, column), least = material.pair(), material.draw.choice([2, 3])
    return Draft(
        "join having",
        f"List the name of each {parent.noun.one} that has at least {least} {child.noun.many}, and how many "
        "it has.",
        Query(
            ("p.name", "count(*)"),
            f"{parent.table} AS p",
            joins=((f"{child.table} AS c", f"c.{column} = p.id"),),
            group="p.id",
            having=f"count(*) >= {least}",
        ),
    )


def without_children(material: Material) -> Draft:
    """Parents without children that meet a condition."""
    child, parent, column = material.pair()
    condition = material.condition(child)
    inner = Query((column,), child.table, where=(f"{column} IS NOT NULL", condition.sql))
    return Draft(
        "not in",
        f"List the names of the {parent.noun.many} without any {child.noun.one} {condition.text}.",
        Query(("name",), parent.table, where=(f"id NOT IN ({inner.sql})",)),
    )


def above_average(material: Material) -> Draft:
    """Rows that meet a condition and whose number is above the average of all."""
    entity = material.entity()
    condition, (column, phrase) = material.is_category(entity), material.number(entity)
    inner = Query((f"avg({column})",), entity.table)
    return Draft(
        "subquery",
        f"List the name and the {phrase} of the {entity.noun.many} {condition.text} and whose {phrase} is "
        f"above the average {phrase} of all {entity.noun.many}.",
        Query(("name", column), entity.table, where=(condition.sql, f"{column} > ({inner.sql})")),
    )


def linked(material: Material) -> Draft:
    """Names of entities that are related to ones that meet a condition."""
    link, left, right = material.link()
    condition = material.condition(right, "r.")
    return Draft(
        "link",
        f"List, each only once, the names of the {left.noun.many} that have a {link.noun.one} with a "
        f"{right.noun.one} {condition.text}.",
        Query(
            ("l.name",),
            f"{left.table} AS l",
            joins=(
                (f"{link.table} AS k", f"k.{link.left.column} = l.id"),
                (f"{right.table} AS r", f"k.{link.right.column} = r.id"),
            ),
            where=(condition.sql,),
            distinct=True,
        ),
    )


def totals(material: Material) -> Draft:
    """Sum of a relation's number for each entity, in order."""
    link, left, _ = material.link()
    word, direction = material.draw.choice(EXTREMES)
    return Draft(
        "join sum",
        f"For each {left.noun.one} with a {link.noun.one}, give its name and the total {link.number} of its "
        f"{link.noun.many}, the {word} total first.",
        Query(
            ("l.name", f"sum(k.{link.number})"),
            f"{link.table} AS k",
            joins=((f"{left.table} AS l", f"k.{link.left.column} = l.id"),),
            group="l.id",
            order=(f"sum(k.{link.number}) {direction}",),
        ),
    )


def in_both(material: Material) -> Draft:
    """Values of a category that occur with two conditions."""
    entity = material.entity()
    column, number = material.category(entity), material.number(entity)[0]
    one, other = material.bound(entity, column=number), material.bound(entity, column=number)
    combined = Query((column,), entity.table, where=(other.sql,))
    return Draft(
        "intersect",
        f"Which values of {column} occur both among the {entity.noun.many} {one.text} and among the "
        f"{entity.noun.many} {other.text}?",
        Query((column,), entity.table, where=(one.sql,), combined=("INTERSECT", combined)),
    )


def one_and_not_other(material: Material) -> Draft:
    """Parents with children of one category and none of another."""
    child, parent, column = material.pair()
    category = material.category(child)
    one, other = (material.is_category(child, "c.", category) for _ in range(2))
    joins = ((f"{child.table} AS c", f"c.{column} = p.id"),)
    source, items = f"{parent.table} AS p", ("p.id", "p.name")
    without = Query(items, source, joins=joins, where=(other.sql,))
    return Draft(
        "except",
        f"List the ids and names of the {parent.noun.many} that have a {child.noun.one} {one.text} but no "
        f"{child.noun.one} {other.text}.",
        Query(items, source, joins=joins, where=(one.sql,), combined=("EXCEPT", without)),
    )


def best_of_each(material: Material) -> Draft:
    """For each parent its children with the highest number."""
    child, parent, column = material.pair()
    number, phrase = material.number(child)
    function, word = material.draw.choice([("max", "highest"), ("min", "lowest")])
    inner = Query((f"{function}(o.{number})",), f"{child.table} AS o", where=(f"o.{column} = p.id",))
    return Draft(
        "correlated",
        f"For each {parent.noun.one} with {child.noun.many}, give its name and the name of its "
        f"{child.noun.one} with the {word} {phrase}; if several share it, give all of them.",
        Query(
            ("p.name", "c.name"),
            f"{parent.table} AS p",
            joins=((f"{child.table} AS c", f"c.{column} = p.id"),),
            where=(f"c.{number} = ({inner.sql})",),
        ),
    )


def linked_often(material: Material) -> Draft:
    """Entities with several relations to ones that meet a condition, by their number."""
    (link, left, right), least = material.link(), material.draw.choice([2, 3])
    condition = material.condition(right, "r.")
    return Draft(
        "link having",
        f"List the name of each {left.noun.one} that has at least {least} {link.noun.many} with "
        f"{right.noun.many} {condition.text}, and how many, the highest number first.",
        Query(
            ("l.name", "count(*)"),
            f"{left.table} AS l",
            joins=(
                (f"{link.table} AS k", f"k.{link.left.column} = l.id"),
                (f"{right.table} AS r", f"k.{link.right.column} = r.id"),
            ),
            where=(condition.sql,),
            group="l.id",
            having=f"count(*) >= {least}",
            order=("count(*) DESC",),
        ),
    )


def more_than_the_average(material: Material) -> Draft:
    """Number of parents with more children than parents have on average."""
    child, parent, column = material.pair()
    sizes = Query(("count(*) AS size",), child.table, where=(f"{column} IS NOT NULL",), group=column)
    average = Query(("avg(size)",), f"({sizes.sql})")
    return Draft(
        "nested groups",
        f"List the names of the {parent.noun.many} that have more {child.noun.many} than the "
        f"{parent.noun.many} with any have on average.",
        Query(
            ("p.name",),
            f"{parent.table} AS p",
            joins=((f"{child.table} AS c", f"c.{column} = p.id"),),
            group="p.id",
            having=f"count(*) > ({average.sql})",
        ),
    )


HARD = (most_children, several_children, without_children, above_average, linked, totals)
EXTRA = (in_both, one_and_not_other, best_of_each, linked_often, more_than_the_average)

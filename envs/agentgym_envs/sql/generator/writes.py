"""Question templates of the level write: changes of rows."""

from agentgym_envs.sql.generator import words
from agentgym_envs.sql.generator.material import Draft, Material
from agentgym_envs.sql.generator.query import Query, Write, literal


def set_category(material: Material) -> Draft:
    """Give the rows that meet a condition a category."""
    entity = material.entity()
    column, condition = material.category(entity), material.bound(entity)
    value = str(material.value(entity, column))
    return Draft(
        "update",
        f"Set the {column} of all {entity.noun.many} {condition.text} to {value}.",
        Write(f"UPDATE {entity.table} SET {column} = {literal(value)}", (condition.sql,)),
    )


def raise_number(material: Material) -> Draft:
    """Add to a number of the rows that meet two conditions."""
    entity, step = material.entity(), material.draw.randint(2, 9)
    one, other = material.is_category(entity), material.bound(entity)
    column, phrase = material.number(entity)
    return Draft(
        "update",
        f"Add {step} to the {phrase} of each {entity.noun.one} {one.text} and {other.text}.",
        Write(f"UPDATE {entity.table} SET {column} = {column} + {step}", (one.sql, other.sql)),
    )


def delete_relations(material: Material) -> Draft:
    """Delete relations with entities that meet a condition."""
    link, left, _ = material.link()
    condition = material.condition(left)
    inner = Query(("id",), left.table, where=(condition.sql,))
    return Draft(
        "delete",
        f"Delete every {link.noun.one} of {left.noun.many} {condition.text}.",
        Write(f"DELETE FROM {link.table}", (f"{link.left.column} IN ({inner.sql})",)),
    )


def add_row(material: Material) -> Draft:
    """Add an entity with given values; other columns are NULL."""
    entity = material.entity()
    category, (number, phrase) = material.category(entity), material.number(entity)
    name = f"{material.draw.choice(words.FIRST)}{material.draw.choice(words.LAST)}"
    value, size = str(material.value(entity, category)), material.value(entity, number)
    values = ", ".join([literal(name), literal(value), str(size)])
    return Draft(
        "insert",
        f"Add a new {entity.noun.one} named {name} with the {category} {value} and the {phrase} {size}; "
        "leave its other columns empty.",
        Write(f"INSERT INTO {entity.table} (name, {category}, {number}) VALUES ({values})"),
    )


def add_relations(material: Material) -> Draft:
    """Add a relation for each entity that meets a condition."""
    link, left, right = material.link()
    condition, amount = material.condition(left), material.draw.randint(2, 9)
    target = material.draw.randint(1, 9)
    source = Query(("id", str(target), str(amount)), left.table, where=(condition.sql,))
    columns = f"{link.left.column}, {link.right.column}, {link.number}"
    return Draft(
        "insert",
        f"Add one {link.noun.one} for each of the {left.noun.many} {condition.text}, all of them with the "
        f"{right.noun.one} of id {target} and {amount} as {link.number}.",
        Write(f"INSERT INTO {link.table} ({columns}) {source.sql}"),
    )


WRITE = (set_category, raise_number, delete_relations, add_row, add_relations)

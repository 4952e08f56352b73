"""A pydantic model as an OpenAI function-calling schema, plain enough for the servers we know.

Flat and inlined: no $ref, no defaults, no formats, no oneOf; each argument also takes text,
because a reference to an earlier step is text.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

_KEPT = ("type", "description", "enum", "items", "minimum", "maximum")


def function_schema(name: str, description: str, args: type[BaseModel]) -> dict[str, Any]:
    """Return `{"type": "function", "function": {…}}` for one operation."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": parameters_schema(args),
        },
    }


def parameters_schema(args: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of the arguments alone."""
    schema = args.model_json_schema(by_alias=False)
    definitions = schema.get("$defs", {})
    properties = {
        key: _admit_text(_flat(value, definitions))
        for key, value in schema.get("properties", {}).items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(schema.get("required", [])),
        "additionalProperties": False,
    }


def _flat(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        return _flat({**target, **{k: v for k, v in schema.items() if k != "$ref"}}, definitions)
    if "anyOf" in schema:
        choices = [_flat(item, definitions) for item in schema["anyOf"]]
        choices = [item for item in choices if item.get("type") != "null"]
        described = {"description": schema["description"]} if "description" in schema else {}
        if len(choices) == 1:
            return {**choices[0], **described}
        return {"anyOf": choices, **described}
    flat = {key: schema[key] for key in _KEPT if key in schema}
    if "const" in schema:
        flat["enum"] = [schema["const"]]
    if isinstance(flat.get("items"), dict):
        flat["items"] = _flat(flat["items"], definitions)
    return flat


def _admit_text(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "string" or "anyOf" in schema or "enum" in schema:
        return schema
    described = {"description": schema["description"]} if "description" in schema else {}
    bare = {key: value for key, value in schema.items() if key != "description"}
    return {"anyOf": [bare, {"type": "string"}], **described}

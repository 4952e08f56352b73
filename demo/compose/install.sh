#!/usr/bin/env bash
# One-shot: bundles the agent and puts it into Open WebUI, or updates it there.
# The address, the administrator and the valves come from the environment.
set -euo pipefail

: "${OPEN_WEBUI_URL:?}" "${OPEN_WEBUI_EMAIL:?}" "${OPEN_WEBUI_PASSWORD:?}" "${PORTFOLIO_DSN:?}"
project="${PROJECT_HOME:-/project}"

# The checkout is mounted read-only and the bundle is written beside its sources.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for part in pipe tools prompts schemas pyproject.toml; do
    cp -R "$project/$part" "$work/"
done
cd "$work"

# The packages are in the image: the host must not run pip for them.
python3 -m pipe.bundle --no-requirements
python3 -m pipe.install

#!/usr/bin/env bash
# Healthy when the agent's own user can read the catalogue. The host name and not
# 127.0.0.1: while the tables are being made the server listens on 127.0.0.1 only.
set -euo pipefail

export CLICKHOUSE_PASSWORD="${AGENT_PASSWORD:?}"
found="$(clickhouse-client --host "$(hostname)" --user portfolio_agent \
    --query "SELECT count() > 0 FROM Contribution.portfolio_catalogue")"
[ "$found" = "1" ]

#!/usr/bin/env bash
# Runs inside the ClickHouse container on every start, before the ports open: the tables,
# the demo data if there is none, the name indexes, the read-only user of the agent.
# Every step may be repeated, so a start that was cut short is finished by the next one.
set -euo pipefail

: "${CLICKHOUSE_USER:?}" "${CLICKHOUSE_PASSWORD:?}" "${AGENT_PASSWORD:?}"
home="${PORTFOLIO_HOME:-/opt/portfolio}"
table="Contribution.contribution_twr_1s_mcp"

# The client takes the password from CLICKHOUSE_PASSWORD: not on a command line.
client() {
    clickhouse-client --host 127.0.0.1 --user "$CLICKHOUSE_USER" "$@"
}

client --multiquery < "$home/sql/schema.sql"
client --multiquery < "$home/sql/catalogue.sql"

rows="$(client --query "SELECT count() FROM $table")"
if [ "$rows" = "0" ]; then
    # One block, so the table gets all rows or none.
    # A shard of a cluster takes the portfolios of its own number only.
    shard="${CLUSTER_SHARD:-}"
    gzip -dc "$home/demo.tsv.gz" \
        | if [ -n "$shard" ]; then awk -F '\t' -v n="$shard" '$1 % 2 == n - 1'; else cat; fi \
        | client --input_format_parallel_parsing 0 --query "INSERT INTO $table FORMAT TabSeparated"
    client --multiquery < "$home/sql/text_index.sql"
fi

if [ -n "${CLUSTER_SHARD:-}" ]; then
    client --multiquery < "$home/sql/cluster.sql"
fi

# Every time, so that a new password in .env takes effect on restart. Only its SHA-256
# goes to the server.
hash="$(printf %s "$AGENT_PASSWORD" | sha256sum | cut -d ' ' -f 1)"
sed "s/@AGENT_PASSWORD_SHA256@/$hash/g" "$home/sql/readonly_user.sql" | client --multiquery

# Open WebUI with the three packages the agent needs, so that nothing is installed at start.
FROM ghcr.io/open-webui/open-webui:0.12.4
RUN pip install --no-cache-dir \
    clickhouse-connect==1.12.0 \
    sqlglot==30.30.0 \
    json-repair==0.64.6

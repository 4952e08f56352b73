# ClickHouse with the schema, the name indexes, the read-only user and the demo data.
# The data is made while the image is built and ends at DEMO_LAST_DAY (empty: the last
# business day before the build). Build again to move it on.
FROM python:3.12-slim-bookworm AS data
ARG DEMO_LAST_DAY=""
WORKDIR /project
# --no-deps: only its price file is read, without pandas and the rest.
RUN pip install --no-cache-dir --no-deps bokeh_sampledata==2026.1
COPY demo/__init__.py demo/data.py demo/catalogue.csv demo/
RUN python -m demo.data --tsv demo.tsv.gz ${DEMO_LAST_DAY:+--last-day "$DEMO_LAST_DAY"}

FROM clickhouse/clickhouse-server:26.9.6.6
COPY demo/compose/clickhouse-config.xml /etc/clickhouse-server/config.d/portfolio.xml
COPY tools/sql /opt/portfolio/sql
COPY --from=data /project/demo.tsv.gz /opt/portfolio/demo.tsv.gz
COPY --chmod=755 demo/compose/clickhouse-health.sh /opt/portfolio/health.sh
COPY --chmod=755 demo/compose/clickhouse-init.sh /docker-entrypoint-initdb.d/10-portfolio.sh

-- Read-only access for the agent: a profile with limits, a role, a user. Safe to repeat;
-- run as an administrator with access management. Put the SHA-256 of the password (hex)
-- in place of @AGENT_PASSWORD_SHA256@, so that the password itself reaches no log:
--   printf %s "$PASSWORD" | sha256sum
-- CHANGEABLE_IN_READONLY lets the agent ask for less than the limit in one query, never
-- for more. It needs settings_constraints_replace_previous, which the server's own
-- config.xml turns on.
CREATE SETTINGS PROFILE OR REPLACE portfolio_agent_limits SETTINGS
    readonly = 1 CONST,
    allow_ddl = 0 CONST,
    max_execution_time = 30 MIN 1 MAX 600 CHANGEABLE_IN_READONLY,
    timeout_before_checking_execution_speed = 0 CONST,
    max_result_rows = 100000 MIN 1 MAX 1000000 CHANGEABLE_IN_READONLY,
    max_result_bytes = 268435456 MIN 1 MAX 268435456 CHANGEABLE_IN_READONLY,
    result_overflow_mode = 'throw' CONST,
    max_memory_usage = 4294967296 MIN 1 MAX 4294967296 CHANGEABLE_IN_READONLY,
    max_rows_to_read = 1000000000 MIN 1 MAX 1000000000 CHANGEABLE_IN_READONLY,
    max_bytes_to_read = 107374182400 MIN 1 MAX 107374182400 CHANGEABLE_IN_READONLY,
    read_overflow_mode = 'throw' CONST,
    timeout_overflow_mode = 'throw' CONST,
    max_threads = 4 MIN 1 MAX 8 CHANGEABLE_IN_READONLY,
    max_concurrent_queries_for_user = 20 CONST,
    max_query_size = 262144 CONST,
    max_ast_elements = 50000 CONST,
    cancel_http_readonly_queries_on_client_close = 1;

CREATE ROLE IF NOT EXISTS portfolio_agent_reader;

-- First nothing at all: no FILE, URL, S3, REMOTE or other source, no writing, whatever
-- was granted to the role before. Then reading, and only here.
REVOKE ALL ON *.* FROM portfolio_agent_reader;

GRANT SELECT ON Contribution.* TO portfolio_agent_reader;

-- Lists of databases, tables and columns show only what the role may read.
GRANT SELECT ON system.databases TO portfolio_agent_reader;

GRANT SELECT ON system.tables TO portfolio_agent_reader;

GRANT SELECT ON system.columns TO portfolio_agent_reader;

GRANT SELECT ON system.data_skipping_indices TO portfolio_agent_reader;

-- Own queries only, which is also all that KILL QUERY stops without a grant.
GRANT SELECT ON system.processes TO portfolio_agent_reader;

CREATE USER IF NOT EXISTS portfolio_agent
    IDENTIFIED WITH sha256_hash BY '@AGENT_PASSWORD_SHA256@';

ALTER USER portfolio_agent
    IDENTIFIED WITH sha256_hash BY '@AGENT_PASSWORD_SHA256@'
    HOST ANY
    SETTINGS PROFILE portfolio_agent_limits;

-- Grants given to the user past the role would widen it: drop them on every run.
REVOKE ALL ON *.* FROM portfolio_agent;

GRANT portfolio_agent_reader TO portfolio_agent;

SET DEFAULT ROLE portfolio_agent_reader TO portfolio_agent;

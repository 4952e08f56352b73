"""Demo: data, compose files and a local launcher; nothing else imports this room."""

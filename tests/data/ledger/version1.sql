-- A ledger as schema version 1 writes it. It stays as it is when later versions come: they must
-- still read it.
PRAGMA journal_mode = WAL;
PRAGMA application_id = 1450079346;
BEGIN;
CREATE TABLE run (  id INTEGER PRIMARY KEY AUTOINCREMENT,  kind TEXT NOT NULL,  started_at TEXT NOT NULL,  url TEXT NOT NULL,  api TEXT,  model TEXT,  partial INTEGER NOT NULL,  verdict TEXT,  requests_per_s REAL,  p50_ms REAL,  p99_ms REAL,  n_ok INTEGER NOT NULL,  n_failed INTEGER NOT NULL,  json TEXT NOT NULL);
CREATE TABLE fingerprint (  run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,  position INTEGER NOT NULL,  name TEXT NOT NULL,  value TEXT NOT NULL,  PRIMARY KEY (run_id, position),  UNIQUE (run_id, name)) WITHOUT ROWID;
INSERT INTO run VALUES (1, 'load', '2026-01-02T03:04:05Z', 'http://127.0.0.1:8000/v1/completions', 'openai-completions', 'tales', 0, 'ok', 12.5, 80.25, 120.5, 1000, 3, '{"schema": "venturi.load/1", "partial": false}');
INSERT INTO run VALUES (2, 'diagnose', '2026-01-02T03:10:00Z', 'http://127.0.0.1:8000/v1/completions', 'openai-completions', 'tales', 0, 'bottleneck', 13, 600, 900, 400, 0, '{"schema": "venturi.diagnosis/1"}');
INSERT INTO run VALUES (3, 'load', '2026-07-02T23:59:30Z', 'http://service.example/a/page?x=1', 'http', NULL, 1, NULL, 250.25, 0.834, NULL, 70, 0, '{"schema": "venturi.load/1", "partial": true}');
INSERT INTO fingerprint VALUES (1, 0, 'load.concurrency', '8'), (1, 1, 'host.cpu', 'a CPU'), (3, 0, 'load.rate_per_s', '250');
PRAGMA user_version = 1;
COMMIT;

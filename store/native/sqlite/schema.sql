CREATE TABLE states (
	state  INTEGER PRIMARY KEY,
	sha256 BLOB NOT NULL UNIQUE, -- of the bytes as their writer serialised them
	size   INTEGER NOT NULL,     -- of those bytes
	draft  INTEGER,              -- the session among whose drafts some of its parts are; null: it has none there
	list   BLOB NOT NULL         -- where its parts are: places, as the package parts writes them
) STRICT;
CREATE TABLE blocks (
	place    INTEGER PRIMARY KEY, -- of the first byte: 27 bits for the stream, 36 for where in it
	size     INTEGER NOT NULL,    -- of the bytes, 65536 at most
	encoding INTEGER NOT NULL,    -- of data: 0 as they are, 1 zstd
	data     BLOB NOT NULL
) STRICT;
CREATE TABLE parts (
	hash  INTEGER NOT NULL, -- the first eight bytes of the SHA-256 of a large part
	place INTEGER NOT NULL,
	size  INTEGER NOT NULL,
	PRIMARY KEY (hash, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
	session      INTEGER PRIMARY KEY,
	id           TEXT NOT NULL UNIQUE,
	head         INTEGER,                      -- the visit to resume from
	record_state INTEGER REFERENCES states,    -- the working state; null: no record
	record_turn  INTEGER NOT NULL DEFAULT 0,
	updated      ANY,                          -- a time, as visits.at
	revision     INTEGER NOT NULL DEFAULT 0,   -- counts the changes; undo puts it back
	writes       INTEGER NOT NULL DEFAULT 0,   -- counts the changes, undo included: a store.Revision
	rewrites     INTEGER NOT NULL DEFAULT 0,   -- counts those that changed earlier visits: a store.Cursor's
	visits       INTEGER NOT NULL DEFAULT 0,   -- how many the session has
	orphaned     INTEGER NOT NULL DEFAULT 0    -- how many of them are off the active path
) STRICT;
CREATE TABLE reasons (
	session      INTEGER NOT NULL REFERENCES sessions,
	reason       INTEGER NOT NULL, -- 0: nothing tells why
	kind         INTEGER NOT NULL,
	at           ANY,
	target_id    TEXT NOT NULL,
	target_index INTEGER NOT NULL,
	PRIMARY KEY (session, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE visits (
	session      INTEGER NOT NULL REFERENCES sessions,
	visit        INTEGER NOT NULL, -- ascends as visits are recorded
	id           TEXT NOT NULL,    -- the snapshot's
	parent_visit INTEGER,
	parent_id    TEXT,             -- only where it is not the id of parent_visit
	idx          INTEGER NOT NULL,
	turn         INTEGER NOT NULL,
	event        INTEGER NOT NULL,
	at           ANY,              -- nanoseconds since 1970 in UTC, or RFC 3339
	state        INTEGER NOT NULL REFERENCES states,
	size         INTEGER NOT NULL, -- of the state
	reason       INTEGER,          -- why it is off the active path; null: it is on it
	extra        TEXT,             -- JSON: what the row says besides
	PRIMARY KEY (session, visit),
	FOREIGN KEY (session, reason) REFERENCES reasons
) STRICT, WITHOUT ROWID;
CREATE TABLE journal (
	entry           INTEGER PRIMARY KEY,
	at              ANY,
	op              TEXT NOT NULL,
	session         TEXT NOT NULL, -- the id of the session that changed
	source          TEXT NOT NULL, -- that of the session which holds the target
	target          INTEGER NOT NULL,
	from_id         TEXT NOT NULL,
	from_index      INTEGER NOT NULL,
	to_id           TEXT NOT NULL,
	to_index        INTEGER NOT NULL,
	undone          INTEGER NOT NULL DEFAULT 0, -- 1: undone; 2: undone, and then something else was written
	reason          INTEGER NOT NULL, -- what the orphaned visits were given
	before_head     INTEGER,
	before_state    INTEGER REFERENCES states,
	before_turn     INTEGER NOT NULL,
	before_updated  ANY,
	before_revision INTEGER NOT NULL,
	after_revision  INTEGER NOT NULL
) STRICT;
CREATE TABLE journal_visits (
	entry  INTEGER NOT NULL REFERENCES journal,
	visit  INTEGER NOT NULL, -- made active by the entry
	reason INTEGER NOT NULL, -- what it said before
	PRIMARY KEY (entry, visit)
) STRICT, WITHOUT ROWID;
CREATE INDEX visits_by_id ON visits (id, session, idx);
CREATE INDEX visits_by_state ON visits (state);
CREATE INDEX sessions_by_state ON sessions (record_state);
CREATE INDEX journal_by_state ON journal (before_state);
CREATE INDEX states_by_draft ON states (draft) WHERE draft IS NOT NULL;

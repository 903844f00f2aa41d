-- A batch of an import takes one value.
CREATE SEQUENCE hindcast.states_state AS bigint INCREMENT BY 256;
CREATE TABLE hindcast.states (
	state  bigint PRIMARY KEY DEFAULT nextval('hindcast.states_state'),
	sha256 bytea NOT NULL UNIQUE, -- of the bytes as their writer serialised them
	size   bigint NOT NULL,       -- of those bytes
	draft  bigint,                -- the session among whose drafts some of its parts are; null: it has none there
	list   bytea NOT NULL         -- where its parts are: places, as the package parts writes them
);
ALTER SEQUENCE hindcast.states_state OWNED BY hindcast.states.state;
CREATE TABLE hindcast.blocks (
	place    bigint PRIMARY KEY, -- of the first byte: 27 bits for the stream, 36 for where in it
	size     bigint NOT NULL,    -- of the bytes, 65536 at most
	encoding bigint NOT NULL,    -- of data: 0 as they are, 1 zstd
	data     bytea NOT NULL
);
-- It is compressed already.
ALTER TABLE hindcast.blocks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE hindcast.parts (
	hash  bigint NOT NULL, -- the first eight bytes of the SHA-256 of a large part
	place bigint NOT NULL,
	size  bigint NOT NULL,
	PRIMARY KEY (hash, place)
);
CREATE TABLE hindcast.sessions (
	session      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id           text COLLATE "C" NOT NULL UNIQUE,
	head         bigint,                             -- the visit to resume from
	record_state bigint REFERENCES hindcast.states,  -- the working state; null: no record
	record_turn  bigint NOT NULL DEFAULT 0,
	updated      text,                               -- a time, as visits.at
	revision     bigint NOT NULL DEFAULT 0,          -- counts the changes; undo puts it back
	writes       bigint NOT NULL DEFAULT 0,          -- counts the changes, undo included: a store.Revision
	rewrites     bigint NOT NULL DEFAULT 0,          -- counts those that changed earlier visits: a store.Cursor's
	visits       bigint NOT NULL DEFAULT 0,          -- how many the session has
	orphaned     bigint NOT NULL DEFAULT 0           -- how many of them are off the active path
);
CREATE TABLE hindcast.reasons (
	session      bigint NOT NULL REFERENCES hindcast.sessions,
	reason       bigint NOT NULL, -- 0: nothing tells why
	kind         bigint NOT NULL,
	at           text,
	target_id    text COLLATE "C" NOT NULL,
	target_index bigint NOT NULL,
	PRIMARY KEY (session, reason)
);
CREATE TABLE hindcast.visits (
	session      bigint NOT NULL REFERENCES hindcast.sessions,
	visit        bigint NOT NULL,           -- ascends as visits are recorded
	id           text COLLATE "C" NOT NULL, -- the snapshot's
	parent_visit bigint,
	parent_id    text COLLATE "C",          -- only where it is not the id of parent_visit
	idx          bigint NOT NULL,
	turn         bigint NOT NULL,
	event        bigint NOT NULL,
	at           text,                      -- RFC 3339
	state        bigint NOT NULL REFERENCES hindcast.states,
	size         bigint NOT NULL,           -- of the state
	reason       bigint,                    -- why it is off the active path; null: it is on it
	extra        text,                      -- JSON: what the row says besides
	PRIMARY KEY (session, visit),
	FOREIGN KEY (session, reason) REFERENCES hindcast.reasons
);
CREATE TABLE hindcast.journal (
	entry           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at              text,
	op              text NOT NULL,
	session         text COLLATE "C" NOT NULL, -- the id of the session that changed
	source          text COLLATE "C" NOT NULL, -- that of the session which holds the target
	target          bigint NOT NULL,
	from_id         text COLLATE "C" NOT NULL,
	from_index      bigint NOT NULL,
	to_id           text COLLATE "C" NOT NULL,
	to_index        bigint NOT NULL,
	undone          bigint NOT NULL DEFAULT 0, -- 1: undone; 2: undone, and then something else was written
	reason          bigint NOT NULL,           -- what the orphaned visits were given
	before_head     bigint,
	before_state    bigint REFERENCES hindcast.states,
	before_turn     bigint NOT NULL,
	before_updated  text,
	before_revision bigint NOT NULL,
	after_revision  bigint NOT NULL
);
CREATE TABLE hindcast.journal_visits (
	entry  bigint NOT NULL REFERENCES hindcast.journal,
	visit  bigint NOT NULL, -- made active by the entry
	reason bigint NOT NULL, -- what it said before
	PRIMARY KEY (entry, visit)
);
CREATE INDEX visits_by_id ON hindcast.visits (id, session, idx);
CREATE INDEX visits_by_state ON hindcast.visits (state);
CREATE INDEX sessions_by_state ON hindcast.sessions (record_state);
CREATE INDEX journal_by_state ON hindcast.journal (before_state);
CREATE INDEX states_by_draft ON hindcast.states (draft) WHERE draft IS NOT NULL;
CREATE TABLE hindcast.marks (
	connection text PRIMARY KEY, -- of a program that writes
	mark       bigint NOT NULL,  -- its last transaction
	at         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE stores (
	store INTEGER PRIMARY KEY,
	kind  TEXT NOT NULL,
	at    TEXT NOT NULL,    -- the whole path
	seen  INTEGER NOT NULL, -- when it was kept last, in nanoseconds since 1970
	UNIQUE (kind, at)
) STRICT;
CREATE TABLE files (
	file     INTEGER PRIMARY KEY AUTOINCREMENT,
	store    INTEGER NOT NULL REFERENCES stores,
	name     TEXT NOT NULL,      -- the whole path, with slashes
	newest   INTEGER,            -- 1; null: another content took its place
	size     INTEGER NOT NULL,   -- bytes
	mode     INTEGER NOT NULL,   -- permission bits
	modified INTEGER NOT NULL,   -- nanoseconds since 1970
	stamp    TEXT NOT NULL,      -- what the system said of the file when it was read; "": read it again
	tag      BLOB NOT NULL,      -- names the content
	list     BLOB NOT NULL,      -- the parts, as varints
	kept     INTEGER NOT NULL,   -- when it was kept, in nanoseconds since 1970
	gone     INTEGER,            -- when it was first missed; null: it was there
	redacted INTEGER NOT NULL DEFAULT 0 -- 1: there are letters in place of secrets
) STRICT;
CREATE UNIQUE INDEX files_by_name ON files (name, newest);
CREATE INDEX files_by_store ON files (store, newest);
CREATE TABLE parts (
	part  INTEGER PRIMARY KEY AUTOINCREMENT,
	hash  BLOB NOT NULL UNIQUE, -- the SHA-256 of its bytes
	block INTEGER NOT NULL REFERENCES blocks,
	at    INTEGER NOT NULL,     -- where it begins in the block
	size  INTEGER NOT NULL      -- bytes
) STRICT;
CREATE INDEX parts_by_block ON parts (block);
CREATE TABLE blocks (
	block    INTEGER PRIMARY KEY AUTOINCREMENT,
	size     INTEGER NOT NULL, -- of the bytes of its parts
	encoding INTEGER NOT NULL, -- of data: 0 as they are, 1 zstd
	data     BLOB NOT NULL
) STRICT;
CREATE TABLE forgotten (
	name TEXT PRIMARY KEY -- the whole path of a file that is not kept again
) STRICT, WITHOUT ROWID;

-- The tables of schema.sql, on a server. A hash has no limit of size, as a path has none that an index could keep.
CREATE SCHEMA IF NOT EXISTS hindcast_kept;
CREATE TABLE hindcast_kept.archive (version bigint PRIMARY KEY);
CREATE TABLE hindcast_kept.stores (
	store bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	kind  text NOT NULL,
	at    text NOT NULL,
	seen  bigint NOT NULL,
	EXCLUDE USING hash ((kind || ' ' || at) WITH =)
);
CREATE TABLE hindcast_kept.files (
	file     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	store    bigint NOT NULL REFERENCES hindcast_kept.stores,
	name     text NOT NULL,
	newest   bigint,
	size     bigint NOT NULL,
	mode     bigint NOT NULL,
	modified bigint NOT NULL,
	stamp    text NOT NULL,
	tag      bytea NOT NULL,
	list     bytea NOT NULL,
	kept     bigint NOT NULL,
	gone     bigint,
	redacted boolean NOT NULL DEFAULT false,
	EXCLUDE USING hash (name WITH =) WHERE (newest = 1)
);
CREATE INDEX files_by_name ON hindcast_kept.files USING hash (name);
CREATE INDEX files_by_store ON hindcast_kept.files (store, newest);
CREATE TABLE hindcast_kept.blocks (
	block    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	size     bigint NOT NULL,
	encoding bigint NOT NULL,
	data     bytea NOT NULL
);
ALTER TABLE hindcast_kept.blocks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE hindcast_kept.parts (
	part  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	hash  bytea NOT NULL UNIQUE,
	block bigint NOT NULL REFERENCES hindcast_kept.blocks,
	at    bigint NOT NULL,
	size  bigint NOT NULL
);
CREATE INDEX parts_by_block ON hindcast_kept.parts (block);
CREATE TABLE hindcast_kept.forgotten (
	name text NOT NULL,
	EXCLUDE USING hash (name WITH =)
);

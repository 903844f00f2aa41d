PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO dbos_migrations VALUES(6);
CREATE TABLE workflow_status (
    workflow_uuid TEXT PRIMARY KEY,
    status TEXT,
    name TEXT,
    authenticated_user TEXT,
    assumed_role TEXT,
    authenticated_roles TEXT,
    request TEXT,
    output TEXT,
    error TEXT,
    executor_id TEXT,
    created_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    updated_at INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    application_version TEXT,
    application_id TEXT,
    class_name TEXT DEFAULT NULL,
    config_name TEXT DEFAULT NULL,
    recovery_attempts INTEGER DEFAULT 0,
    queue_name TEXT,
    workflow_timeout_ms INTEGER,
    workflow_deadline_epoch_ms INTEGER,
    inputs TEXT,
    started_at_epoch_ms INTEGER,
    deduplication_id TEXT,
    priority INTEGER NOT NULL DEFAULT 0
, queue_partition_key TEXT, forked_from TEXT);
INSERT INTO workflow_status VALUES('w1','SUCCESS','agent',NULL,NULL,NULL,NULL,'gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==',NULL,'local',1796078819000,1796078819000,'a83f63c892e1cd50ff348f51ca338711','',NULL,NULL,1,NULL,NULL,NULL,'gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARPc2xvlIWUjAZrd2FyZ3OUfZR1Lg==',NULL,NULL,0,NULL,NULL);
INSERT INTO workflow_status VALUES('w2','ERROR','agent',NULL,NULL,NULL,NULL,NULL,'gASVLgAAAAAAAACMCGJ1aWx0aW5zlIwKVmFsdWVFcnJvcpSTlIwMbm8gc3VjaCBjaXR5lIWUUpQu','local',1796078819000,1796078819000,'a83f63c892e1cd50ff348f51ca338711','',NULL,NULL,1,NULL,NULL,NULL,'gASVIwAAAAAAAAB9lCiMBGFyZ3OUjAdOb3doZXJllIWUjAZrd2FyZ3OUfZR1Lg==',NULL,NULL,0,NULL,NULL);
INSERT INTO workflow_status VALUES('w3','SUCCESS','parent',NULL,NULL,NULL,NULL,'gASVkQAAAAAAAABdlChdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgDjAlhc3Npc3RhbnSUaAWMDXNhaWQgUm9tZSDimIKUdX2UKGgDjAR0b29slGgFjAxyYWluIGluIFJvbWWUdX2UKGgDaAhoBYwVc2FpZCByYWluIGluIFJvbWUg4piClHVlTmUu',NULL,'local',1796078819000,1796078820000,'a83f63c892e1cd50ff348f51ca338711','',NULL,NULL,1,NULL,NULL,NULL,'gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARSb21llIWUjAZrd2FyZ3OUfZR1Lg==',NULL,NULL,0,NULL,NULL);
INSERT INTO workflow_status VALUES('w3-1','SUCCESS','agent',NULL,NULL,NULL,NULL,'gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==',NULL,'local',1796078819000,1796078819000,'a83f63c892e1cd50ff348f51ca338711','',NULL,NULL,1,NULL,NULL,NULL,'gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARSb21llIWUjAZrd2FyZ3OUfZR1Lg==',NULL,NULL,0,NULL,NULL);
INSERT INTO workflow_status VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0','SUCCESS','agent',NULL,NULL,NULL,NULL,'gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu',NULL,'local',1796078820000,1796078821000,'a83f63c892e1cd50ff348f51ca338711','',NULL,NULL,1,'_dbos_internal_queue',NULL,NULL,'gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARPc2xvlIWUjAZrd2FyZ3OUfZR1Lg==',1796078821891,NULL,0,NULL,'w1');
CREATE TABLE operation_outputs (
    workflow_uuid TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    function_name TEXT NOT NULL DEFAULT '',
    output TEXT,
    error TEXT,
    child_workflow_id TEXT, started_at_epoch_ms BIGINT, completed_at_epoch_ms BIGINT,
    PRIMARY KEY (workflow_uuid, function_id),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
INSERT INTO operation_outputs VALUES('w1',1,'model','gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBPc2xvIOKYgpR1Lg==',NULL,NULL,1796078819896,1796078819897);
INSERT INTO operation_outputs VALUES('w1',2,'tool','gASVEAAAAAAAAACMDHJhaW4gaW4gT3Nsb5Qu',NULL,NULL,1796078819901,1796078819902);
INSERT INTO operation_outputs VALUES('w1',3,'model','gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIE9zbG8g4piClHUu',NULL,NULL,1796078819905,1796078819905);
INSERT INTO operation_outputs VALUES('w1',4,'DBOS.setEvent',NULL,NULL,NULL,1796078819907,1796078819910);
INSERT INTO operation_outputs VALUES('w2',1,'model','gASVNQAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwQc2FpZCBOb3doZXJlIOKYgpR1Lg==',NULL,NULL,1796078819918,1796078819918);
INSERT INTO operation_outputs VALUES('w2',2,'tool',NULL,'gASVLgAAAAAAAACMCGJ1aWx0aW5zlIwKVmFsdWVFcnJvcpSTlIwMbm8gc3VjaCBjaXR5lIWUUpQu',NULL,1796078819921,1796078819921);
INSERT INTO operation_outputs VALUES('w3',1,'agent',NULL,NULL,'w3-1',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3-1',1,'model','gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBSb21lIOKYgpR1Lg==',NULL,NULL,1796078819937,1796078819938);
INSERT INTO operation_outputs VALUES('w3-1',2,'tool','gASVEAAAAAAAAACMDHJhaW4gaW4gUm9tZZQu',NULL,NULL,1796078819940,1796078819940);
INSERT INTO operation_outputs VALUES('w3-1',3,'model','gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIFJvbWUg4piClHUu',NULL,NULL,1796078819942,1796078819942);
INSERT INTO operation_outputs VALUES('w3-1',4,'DBOS.setEvent',NULL,NULL,NULL,1796078819943,1796078819944);
INSERT INTO operation_outputs VALUES('w3',2,'DBOS.getResult','gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==',NULL,'w3-1',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3',4,'DBOS.sleep','gASVCgAAAAAAAABHQdrDfzk82A0u',NULL,NULL,1796078819950,1796078819950);
INSERT INTO operation_outputs VALUES('w3',3,'DBOS.recv','gAROLg==',NULL,NULL,1796078819949,1796078820953);
INSERT INTO operation_outputs VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0',1,'model','gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBPc2xvIOKYgpR1Lg==',NULL,NULL,1796078819896,1796078819897);
INSERT INTO operation_outputs VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0',2,'tool','gASVEAAAAAAAAACMDHJhaW4gaW4gT3Nsb5Qu',NULL,NULL,1796078819901,1796078819902);
INSERT INTO operation_outputs VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0',3,'model','gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIE9zbG8g4piClHUu',NULL,NULL,1796078821928,1796078821928);
INSERT INTO operation_outputs VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0',4,'DBOS.setEvent',NULL,NULL,NULL,1796078821942,1796078821944);
CREATE TABLE notifications (
    destination_uuid TEXT NOT NULL,
    topic TEXT,
    message TEXT NOT NULL,
    created_at_epoch_ms INTEGER NOT NULL DEFAULT (strftime('%s','now') * 1000),
    message_uuid TEXT NOT NULL DEFAULT (hex(randomblob(16))),
    FOREIGN KEY (destination_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE workflow_events (
    workflow_uuid TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workflow_uuid, key),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
INSERT INTO workflow_events VALUES('w1','messages','gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==');
INSERT INTO workflow_events VALUES('w3-1','messages','gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==');
INSERT INTO workflow_events VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0','messages','gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu');
CREATE TABLE streams (
    workflow_uuid TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    "offset" INTEGER NOT NULL, function_id INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (workflow_uuid, key, "offset"),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE workflow_events_history (
    workflow_uuid TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workflow_uuid, function_id, key),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid)
        ON UPDATE CASCADE ON DELETE CASCADE
);
INSERT INTO workflow_events_history VALUES('w1',4,'messages','gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==');
INSERT INTO workflow_events_history VALUES('w3-1',4,'messages','gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==');
INSERT INTO workflow_events_history VALUES('8c846bb8-7de4-4f53-975d-e0bf546bd8f0',4,'messages','gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu');
CREATE INDEX workflow_status_created_at_index ON workflow_status (created_at);
CREATE INDEX workflow_status_executor_id_index ON workflow_status (executor_id);
CREATE INDEX workflow_status_status_index ON workflow_status (status);
CREATE UNIQUE INDEX uq_workflow_status_queue_name_dedup_id 
ON workflow_status (queue_name, deduplication_id);
CREATE INDEX idx_workflow_topic ON notifications (destination_uuid, topic);
CREATE INDEX "idx_workflow_status_queue_status_started"
ON "workflow_status" ("queue_name", "status", "started_at_epoch_ms");
CREATE INDEX "idx_workflow_status_forked_from" ON "workflow_status" ("forked_from");
COMMIT;

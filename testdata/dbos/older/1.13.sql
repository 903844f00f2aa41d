PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE dbos_migrations (version INTEGER NOT NULL PRIMARY KEY);
INSERT INTO dbos_migrations VALUES(1);
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
);
INSERT INTO workflow_status VALUES('w1','SUCCESS','agent',NULL,NULL,NULL,NULL,'[{"role": "user", "content": "Oslo"}, {"role": "assistant", "content": "said Oslo \u2602"}, {"role": "tool", "content": "rain in Oslo"}, {"role": "assistant", "content": "said rain in Oslo \u2602"}]',NULL,'local',1796078770000,1796078770000,'be553b0a8b3f1fd94c0958d04ddf5307','',NULL,NULL,1,NULL,NULL,NULL,'{"args": {"py/tuple": ["Oslo"]}, "kwargs": {}}',NULL,NULL,0);
INSERT INTO workflow_status VALUES('w2','ERROR','agent',NULL,NULL,NULL,NULL,NULL,'{"py/reduce": [{"py/type": "builtins.ValueError"}, {"py/tuple": ["no such city"]}, {}]}','local',1796078770000,1796078770000,'be553b0a8b3f1fd94c0958d04ddf5307','',NULL,NULL,1,NULL,NULL,NULL,'{"args": {"py/tuple": ["Nowhere"]}, "kwargs": {}}',NULL,NULL,0);
INSERT INTO workflow_status VALUES('w3','SUCCESS','parent',NULL,NULL,NULL,NULL,'[[{"role": "user", "content": "Rome"}, {"role": "assistant", "content": "said Rome \u2602"}, {"role": "tool", "content": "rain in Rome"}, {"role": "assistant", "content": "said rain in Rome \u2602"}], null]',NULL,'local',1796078770000,1796078771000,'be553b0a8b3f1fd94c0958d04ddf5307','',NULL,NULL,1,NULL,NULL,NULL,'{"args": {"py/tuple": ["Rome"]}, "kwargs": {}}',NULL,NULL,0);
INSERT INTO workflow_status VALUES('w3-1','SUCCESS','agent',NULL,NULL,NULL,NULL,'[{"role": "user", "content": "Rome"}, {"role": "assistant", "content": "said Rome \u2602"}, {"role": "tool", "content": "rain in Rome"}, {"role": "assistant", "content": "said rain in Rome \u2602"}]',NULL,'local',1796078770000,1796078770000,'be553b0a8b3f1fd94c0958d04ddf5307','',NULL,NULL,1,NULL,NULL,NULL,'{"args": {"py/tuple": ["Rome"]}, "kwargs": {}}',NULL,NULL,0);
INSERT INTO workflow_status VALUES('896d6aaf-f4d5-483a-b792-584ee288199d','SUCCESS','agent',NULL,NULL,NULL,NULL,'[{"role": "user", "content": "Oslo"}, {"role": "assistant", "content": "said Oslo \u2602"}, {"role": "tool", "content": "rain in Oslo"}, {"role": "assistant", "content": "said rain in Oslo \u2602"}]',NULL,'local',1796078771000,1796078772000,'be553b0a8b3f1fd94c0958d04ddf5307','',NULL,NULL,1,'_dbos_internal_queue',NULL,NULL,'{"args": {"py/tuple": ["Oslo"]}, "kwargs": {}}',1796078772096,NULL,0);
CREATE TABLE operation_outputs (
    workflow_uuid TEXT NOT NULL,
    function_id INTEGER NOT NULL,
    function_name TEXT NOT NULL DEFAULT '',
    output TEXT,
    error TEXT,
    child_workflow_id TEXT,
    PRIMARY KEY (workflow_uuid, function_id),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
INSERT INTO operation_outputs VALUES('w1',1,'model','{"role": "assistant", "content": "said Oslo \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('w1',2,'tool','"rain in Oslo"',NULL,NULL);
INSERT INTO operation_outputs VALUES('w1',3,'model','{"role": "assistant", "content": "said rain in Oslo \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('w1',4,'DBOS.setEvent',NULL,NULL,NULL);
INSERT INTO operation_outputs VALUES('w2',1,'model','{"role": "assistant", "content": "said Nowhere \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('w2',2,'tool',NULL,'{"py/reduce": [{"py/type": "builtins.ValueError"}, {"py/tuple": ["no such city"]}, {}]}',NULL);
INSERT INTO operation_outputs VALUES('w3',1,'agent',NULL,NULL,'w3-1');
INSERT INTO operation_outputs VALUES('w3-1',1,'model','{"role": "assistant", "content": "said Rome \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3-1',2,'tool','"rain in Rome"',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3-1',3,'model','{"role": "assistant", "content": "said rain in Rome \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3-1',4,'DBOS.setEvent',NULL,NULL,NULL);
INSERT INTO operation_outputs VALUES('w3',2,'DBOS.getResult','[{"role": "user", "content": "Rome"}, {"role": "assistant", "content": "said Rome \u2602"}, {"role": "tool", "content": "rain in Rome"}, {"role": "assistant", "content": "said rain in Rome \u2602"}]',NULL,'w3-1');
INSERT INTO operation_outputs VALUES('w3',4,'DBOS.sleep','1796078771.9077003',NULL,NULL);
INSERT INTO operation_outputs VALUES('w3',3,'DBOS.recv','null',NULL,NULL);
INSERT INTO operation_outputs VALUES('896d6aaf-f4d5-483a-b792-584ee288199d',1,'model','{"role": "assistant", "content": "said Oslo \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('896d6aaf-f4d5-483a-b792-584ee288199d',2,'tool','"rain in Oslo"',NULL,NULL);
INSERT INTO operation_outputs VALUES('896d6aaf-f4d5-483a-b792-584ee288199d',3,'model','{"role": "assistant", "content": "said rain in Oslo \u2602"}',NULL,NULL);
INSERT INTO operation_outputs VALUES('896d6aaf-f4d5-483a-b792-584ee288199d',4,'DBOS.setEvent',NULL,NULL,NULL);
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
INSERT INTO workflow_events VALUES('w1','messages','[{"role": "user", "content": "Oslo"}, {"role": "assistant", "content": "said Oslo \u2602"}, {"role": "tool", "content": "rain in Oslo"}, {"role": "assistant", "content": "said rain in Oslo \u2602"}]');
INSERT INTO workflow_events VALUES('w3-1','messages','[{"role": "user", "content": "Rome"}, {"role": "assistant", "content": "said Rome \u2602"}, {"role": "tool", "content": "rain in Rome"}, {"role": "assistant", "content": "said rain in Rome \u2602"}]');
INSERT INTO workflow_events VALUES('896d6aaf-f4d5-483a-b792-584ee288199d','messages','[{"role": "user", "content": "Oslo"}, {"role": "assistant", "content": "said Oslo \u2602"}, {"role": "tool", "content": "rain in Oslo"}, {"role": "assistant", "content": "said rain in Oslo \u2602"}]');
CREATE TABLE streams (
    workflow_uuid TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    "offset" INTEGER NOT NULL,
    PRIMARY KEY (workflow_uuid, key, "offset"),
    FOREIGN KEY (workflow_uuid) REFERENCES workflow_status(workflow_uuid) 
        ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE transaction_outputs (
                            workflow_uuid TEXT NOT NULL,
                            function_id INTEGER NOT NULL,
                            output TEXT,
                            error TEXT,
                            txn_id TEXT,
                            txn_snapshot TEXT NOT NULL,
                            executor_id TEXT,
                            function_name TEXT NOT NULL DEFAULT '',
                            created_at BIGINT NOT NULL DEFAULT (strftime('%s','now') * 1000),
                            PRIMARY KEY (workflow_uuid, function_id)
                        );
CREATE INDEX workflow_status_created_at_index ON workflow_status (created_at);
CREATE INDEX workflow_status_executor_id_index ON workflow_status (executor_id);
CREATE INDEX workflow_status_status_index ON workflow_status (status);
CREATE UNIQUE INDEX uq_workflow_status_queue_name_dedup_id 
ON workflow_status (queue_name, deduplication_id);
CREATE INDEX idx_workflow_topic ON notifications (destination_uuid, topic);
CREATE INDEX transaction_outputs_created_at_index ON transaction_outputs (created_at);
COMMIT;

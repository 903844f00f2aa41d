--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: dbos; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA dbos;


--
-- Name: enqueue_workflow(text, text, json[], json, text, text, text, text, bigint, bigint, text, integer, text, text, text, bigint, text); Type: FUNCTION; Schema: dbos; Owner: -
--

CREATE FUNCTION dbos.enqueue_workflow(workflow_name text, queue_name text, positional_args json[] DEFAULT ARRAY[]::json[], named_args json DEFAULT '{}'::json, class_name text DEFAULT NULL::text, config_name text DEFAULT NULL::text, workflow_id text DEFAULT NULL::text, app_version text DEFAULT NULL::text, timeout_ms bigint DEFAULT NULL::bigint, deadline_epoch_ms bigint DEFAULT NULL::bigint, deduplication_id text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, queue_partition_key text DEFAULT NULL::text, authenticated_user text DEFAULT NULL::text, authenticated_roles text DEFAULT NULL::text, delay_until_epoch_ms bigint DEFAULT NULL::bigint, application_name text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_workflow_id TEXT;
    v_serialized_inputs TEXT;
    v_owner_xid TEXT;
    v_now BIGINT;
    v_recovery_attempts INT4 := 0;
    v_priority INT4;
    v_status TEXT;
BEGIN

    -- Validate required parameters
    IF workflow_name IS NULL OR workflow_name = '' THEN
        RAISE EXCEPTION 'Workflow name cannot be null or empty';
    END IF;
    IF queue_name IS NULL OR queue_name = '' THEN
        RAISE EXCEPTION 'Queue name cannot be null or empty';
    END IF;
    IF named_args IS NOT NULL AND jsonb_typeof(named_args::jsonb) != 'object' THEN
        RAISE EXCEPTION 'Named args must be a JSON object';
    END IF;
    IF workflow_id IS NOT NULL AND workflow_id = '' THEN
        RAISE EXCEPTION 'Workflow ID cannot be an empty string if provided.';
    END IF;
    IF delay_until_epoch_ms IS NOT NULL AND delay_until_epoch_ms < 0 THEN
        RAISE EXCEPTION 'delay_until_epoch_ms must be >= 0';
    END IF;

    v_workflow_id := COALESCE(workflow_id, gen_random_uuid()::TEXT);
    v_owner_xid := gen_random_uuid()::TEXT;
    v_priority := COALESCE(priority, 0);
    v_serialized_inputs := json_build_object(
        'positionalArgs', positional_args,
        'namedArgs', named_args
    )::TEXT;
    v_now := EXTRACT(epoch FROM now()) * 1000;
    v_status := CASE WHEN delay_until_epoch_ms IS NULL THEN 'ENQUEUED' ELSE 'DELAYED' END;

    INSERT INTO "dbos".workflow_status (
        workflow_uuid, status,
        name, class_name, config_name,
        queue_name, deduplication_id, priority, queue_partition_key,
        application_version,
        created_at, updated_at, recovery_attempts,
        workflow_timeout_ms, workflow_deadline_epoch_ms,
        parent_workflow_id, owner_xid, serialization,
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    ) VALUES (
        v_workflow_id, v_status,
        workflow_name, class_name, config_name,
        queue_name, deduplication_id, v_priority, queue_partition_key,
        app_version,
        v_now, v_now, v_recovery_attempts,
        timeout_ms, deadline_epoch_ms,
        NULL, v_owner_xid, 'portable_json',
        authenticated_user, authenticated_roles,
        delay_until_epoch_ms, application_name
    )
    ON CONFLICT (workflow_uuid)
    DO UPDATE SET
        updated_at = EXCLUDED.updated_at;

    INSERT INTO "dbos".workflow_input (
        workflow_uuid, inputs, retention_timestamp
    ) VALUES (
        v_workflow_id, v_serialized_inputs, v_now
    )
    ON CONFLICT (workflow_uuid) DO NOTHING;

    RETURN v_workflow_id;

EXCEPTION
    WHEN unique_violation THEN
        RAISE EXCEPTION 'DBOS queue duplicated'
            USING DETAIL = format('Workflow %s with queue %s and deduplication ID %s already exists', v_workflow_id, queue_name, deduplication_id),
                ERRCODE = 'unique_violation';
END;
$$;


--
-- Name: notifications_function(); Type: FUNCTION; Schema: dbos; Owner: -
--

CREATE FUNCTION dbos.notifications_function() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    payload text := NEW.destination_uuid || '::' || NEW.topic;
BEGIN
    PERFORM pg_notify('dbos_notifications_channel', payload);
    RETURN NEW;
END;
$$;


--
-- Name: send_message(text, json, text, text); Type: FUNCTION; Schema: dbos; Owner: -
--

CREATE FUNCTION dbos.send_message(destination_id text, message json, topic text DEFAULT NULL::text, message_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    v_topic TEXT := COALESCE(topic, '__null__topic__');
    v_message_id TEXT := COALESCE(message_id, gen_random_uuid()::TEXT);
BEGIN
    INSERT INTO "dbos".notifications (
        destination_uuid, topic, message, message_uuid, serialization
    ) VALUES (
        destination_id, v_topic, message, v_message_id, 'portable_json'
    )
    ON CONFLICT (message_uuid) DO NOTHING;
EXCEPTION
    WHEN foreign_key_violation THEN
        RAISE EXCEPTION 'DBOS non-existent workflow'
            USING DETAIL = format('Destination workflow %s does not exist', destination_id),
                ERRCODE = 'foreign_key_violation';
END;
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: application_versions; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.application_versions (
    version_id text NOT NULL,
    version_name text NOT NULL,
    version_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text
);


--
-- Name: dbos_migrations; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.dbos_migrations (
    version bigint NOT NULL
);


--
-- Name: event_dispatch_kv; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.event_dispatch_kv (
    service_name text NOT NULL,
    workflow_fn_name text NOT NULL,
    key text NOT NULL,
    value text,
    update_seq numeric(38,0),
    update_time numeric(38,15)
);


--
-- Name: notifications; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.notifications (
    message_uuid text DEFAULT gen_random_uuid() NOT NULL,
    destination_uuid text NOT NULL,
    topic text,
    message text NOT NULL,
    created_at_epoch_ms bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    serialization text,
    consumed boolean DEFAULT false NOT NULL,
    consumed_by_function_id integer
);


--
-- Name: operation_outputs; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.operation_outputs (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    function_name text DEFAULT ''::text NOT NULL,
    output text,
    error text,
    child_workflow_id text,
    started_at_epoch_ms bigint,
    completed_at_epoch_ms bigint,
    serialization text,
    application_name text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: queues; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.queues (
    queue_id text DEFAULT (gen_random_uuid())::text NOT NULL,
    name text NOT NULL,
    concurrency integer,
    worker_concurrency integer,
    rate_limit_max integer,
    rate_limit_period_sec double precision,
    priority_enabled boolean DEFAULT false NOT NULL,
    partition_queue boolean DEFAULT false NOT NULL,
    polling_interval_sec double precision DEFAULT 1.0 NOT NULL,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_name text,
    partition_concurrency integer,
    partition_worker_concurrency integer,
    partition_rate_limit_max integer,
    partition_rate_limit_period_sec double precision
);


--
-- Name: streams; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.streams (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    "offset" integer NOT NULL,
    function_id integer DEFAULT 0 NOT NULL,
    serialization text
);


--
-- Name: workflow_events; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_events (
    workflow_uuid text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);


--
-- Name: workflow_events_history; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_events_history (
    workflow_uuid text NOT NULL,
    function_id integer NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    serialization text
);


--
-- Name: workflow_input; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_input (
    workflow_uuid text NOT NULL,
    inputs text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: workflow_output; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_output (
    workflow_uuid text NOT NULL,
    output text,
    error text,
    retention_timestamp bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL
);


--
-- Name: workflow_schedules; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_schedules (
    schedule_id text NOT NULL,
    schedule_name text NOT NULL,
    workflow_name text NOT NULL,
    workflow_class_name text,
    schedule text NOT NULL,
    status text DEFAULT 'ACTIVE'::text NOT NULL,
    context text NOT NULL,
    last_fired_at text,
    automatic_backfill boolean DEFAULT false NOT NULL,
    cron_timezone text,
    queue_name text,
    application_name text
);


--
-- Name: workflow_status; Type: TABLE; Schema: dbos; Owner: -
--

CREATE TABLE dbos.workflow_status (
    workflow_uuid text NOT NULL,
    status text,
    name text,
    authenticated_user text,
    assumed_role text,
    authenticated_roles text,
    request text,
    output text,
    error text,
    executor_id text,
    created_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    updated_at bigint DEFAULT ((EXTRACT(epoch FROM now()) * 1000.0))::bigint NOT NULL,
    application_version text,
    application_id text,
    class_name character varying(255) DEFAULT NULL::character varying,
    config_name character varying(255) DEFAULT NULL::character varying,
    recovery_attempts bigint DEFAULT 0,
    queue_name text,
    workflow_timeout_ms bigint,
    workflow_deadline_epoch_ms bigint,
    inputs text,
    started_at_epoch_ms bigint,
    deduplication_id text,
    priority integer DEFAULT 0 NOT NULL,
    queue_partition_key text,
    forked_from text,
    owner_xid text,
    parent_workflow_id text,
    serialization text,
    delay_until_epoch_ms bigint,
    was_forked_from boolean DEFAULT false NOT NULL,
    rate_limited boolean DEFAULT false NOT NULL,
    completed_at bigint,
    attributes jsonb,
    schedule_name text,
    debounce_deadline_epoch_ms bigint,
    is_debounced boolean DEFAULT false NOT NULL,
    application_name text,
    creator_xid text
);


--
-- Data for Name: application_versions; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.application_versions (version_id, version_name, version_timestamp, created_at, application_name) FROM stdin;
66d7e744-d57b-4456-9d44-63f2b40143f3	3ae55a1574ff0a3b052d404d9c14df02	1796037122017	1796037122017	agent
\.


--
-- Data for Name: dbos_migrations; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.dbos_migrations (version) FROM stdin;
125
\.


--
-- Data for Name: event_dispatch_kv; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.event_dispatch_kv (service_name, workflow_fn_name, key, value, update_seq, update_time) FROM stdin;
\.


--
-- Data for Name: notifications; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.notifications (message_uuid, destination_uuid, topic, message, created_at_epoch_ms, serialization, consumed, consumed_by_function_id) FROM stdin;
\.


--
-- Data for Name: operation_outputs; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.operation_outputs (workflow_uuid, function_id, function_name, output, error, child_workflow_id, started_at_epoch_ms, completed_at_epoch_ms, serialization, application_name, retention_timestamp) FROM stdin;
w1	1	model	gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBPc2xvIOKYgpR1Lg==	\N	\N	1796037122252	1796037122285	py_pickle	agent	1796037122297
w1	2	tool	gASVEAAAAAAAAACMDHJhaW4gaW4gT3Nsb5Qu	\N	\N	1796037122315	1796037122357	py_pickle	agent	1796037122360
w1	3	model	gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIE9zbG8g4piClHUu	\N	\N	1796037122365	1796037122381	py_pickle	agent	1796037122383
w1	4	DBOS.setEvent	\N	\N	\N	1796037122385	1796037122389	\N	agent	1796037122386
w2	1	model	gASVNQAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwQc2FpZCBOb3doZXJlIOKYgpR1Lg==	\N	\N	1796037122406	1796037122408	py_pickle	agent	1796037122413
w2	2	tool	\N	gASVLgAAAAAAAACMCGJ1aWx0aW5zlIwKVmFsdWVFcnJvcpSTlIwMbm8gc3VjaCBjaXR5lIWUUpQu	\N	1796037122416	1796037122419	py_pickle	agent	1796037122420
w3	1	agent	\N	\N	w3-1	1796037122431	1796037122452	\N	agent	1796037122451
w3-1	1	model	gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBSb21lIOKYgpR1Lg==	\N	\N	1796037122455	1796037122458	py_pickle	agent	1796037122459
w3-1	2	tool	gASVEAAAAAAAAACMDHJhaW4gaW4gUm9tZZQu	\N	\N	1796037122460	1796037122462	py_pickle	agent	1796037122464
w3-1	3	model	gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIFJvbWUg4piClHUu	\N	\N	1796037122473	1796037122503	py_pickle	agent	1796037122506
w3-1	4	DBOS.setEvent	\N	\N	\N	1796037122510	1796037122514	\N	agent	1796037122512
w3	2	DBOS.getResult	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==	\N	w3-1	1796037122454	1796037122527	py_pickle	agent	1796037122530
w3	4	DBOS.sleep	1796037123.583409	\N	\N	1796037122545	1796037122583	portable_json	agent	1796037122584
w3	3	DBOS.recv	gAROLg==	\N	\N	1796037122533	1796037123646	py_pickle	agent	1796037123633
42cb678f-3341-4183-80a0-ef61c6060a1d	1	model	gASVMgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwNc2FpZCBPc2xvIOKYgpR1Lg==	\N	\N	1796037122252	1796037122285	py_pickle	agent	1796037123675
42cb678f-3341-4183-80a0-ef61c6060a1d	2	tool	gASVEAAAAAAAAACMDHJhaW4gaW4gT3Nsb5Qu	\N	\N	1796037122315	1796037122357	py_pickle	agent	1796037123675
42cb678f-3341-4183-80a0-ef61c6060a1d	3	model	gASVOgAAAAAAAAB9lCiMBHJvbGWUjAlhc3Npc3RhbnSUjAdjb250ZW50lIwVc2FpZCByYWluIGluIE9zbG8g4piClHUu	\N	\N	1796037124447	1796037124531	py_pickle	agent	1796037124536
42cb678f-3341-4183-80a0-ef61c6060a1d	4	DBOS.setEvent	\N	\N	\N	1796037124577	1796037124641	\N	agent	1796037124584
\.


--
-- Data for Name: queues; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.queues (queue_id, name, concurrency, worker_concurrency, rate_limit_max, rate_limit_period_sec, priority_enabled, partition_queue, polling_interval_sec, created_at, updated_at, application_name, partition_concurrency, partition_worker_concurrency, partition_rate_limit_max, partition_rate_limit_period_sec) FROM stdin;
\.


--
-- Data for Name: streams; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.streams (workflow_uuid, key, value, "offset", function_id, serialization) FROM stdin;
\.


--
-- Data for Name: workflow_events; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_events (workflow_uuid, key, value, serialization) FROM stdin;
w1	messages	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==	py_pickle
w3-1	messages	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==	py_pickle
42cb678f-3341-4183-80a0-ef61c6060a1d	messages	gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu	py_pickle
\.


--
-- Data for Name: workflow_events_history; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_events_history (workflow_uuid, function_id, key, value, serialization) FROM stdin;
w1	4	messages	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==	py_pickle
w3-1	4	messages	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==	py_pickle
42cb678f-3341-4183-80a0-ef61c6060a1d	4	messages	gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu	py_pickle
\.


--
-- Data for Name: workflow_input; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_input (workflow_uuid, inputs, retention_timestamp) FROM stdin;
w1	gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARPc2xvlIWUjAZrd2FyZ3OUfZR1Lg==	1796037122191
w2	gASVIwAAAAAAAAB9lCiMBGFyZ3OUjAdOb3doZXJllIWUjAZrd2FyZ3OUfZR1Lg==	1796037122405
w3	gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARSb21llIWUjAZrd2FyZ3OUfZR1Lg==	1796037122427
w3-1	gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARSb21llIWUjAZrd2FyZ3OUfZR1Lg==	1796037122451
42cb678f-3341-4183-80a0-ef61c6060a1d	gASVIAAAAAAAAAB9lCiMBGFyZ3OUjARPc2xvlIWUjAZrd2FyZ3OUfZR1Lg==	1796037123675
\.


--
-- Data for Name: workflow_output; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_output (workflow_uuid, output, error, retention_timestamp) FROM stdin;
w1	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgT3NsbyDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIE9zbG+UdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIE9zbG8g4piClHVlLg==	\N	1796037122402
w2	\N	gASVLgAAAAAAAACMCGJ1aWx0aW5zlIwKVmFsdWVFcnJvcpSTlIwMbm8gc3VjaCBjaXR5lIWUUpQu	1796037122424
w3-1	gASVjAAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgCjAlhc3Npc3RhbnSUaASMDXNhaWQgUm9tZSDimIKUdX2UKGgCjAR0b29slGgEjAxyYWluIGluIFJvbWWUdX2UKGgCaAdoBIwVc2FpZCByYWluIGluIFJvbWUg4piClHVlLg==	\N	1796037122525
w3	gASVkQAAAAAAAABdlChdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBFJvbWWUdX2UKGgDjAlhc3Npc3RhbnSUaAWMDXNhaWQgUm9tZSDimIKUdX2UKGgDjAR0b29slGgFjAxyYWluIGluIFJvbWWUdX2UKGgDaAhoBYwVc2FpZCByYWluIGluIFJvbWUg4piClHVlTmUu	\N	1796037123670
42cb678f-3341-4183-80a0-ef61c6060a1d	gASVowAAAAAAAABdlCh9lCiMBHJvbGWUjAR1c2VylIwHY29udGVudJSMBE9zbG+UdX2UKIwEcm9sZZSMCWFzc2lzdGFudJSMB2NvbnRlbnSUjA1zYWlkIE9zbG8g4piClHV9lChoAowEdG9vbJRoBIwMcmFpbiBpbiBPc2xvlHV9lChoAowJYXNzaXN0YW50lGgEjBVzYWlkIHJhaW4gaW4gT3NsbyDimIKUdWUu	\N	1796037124693
\.


--
-- Data for Name: workflow_schedules; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_schedules (schedule_id, schedule_name, workflow_name, workflow_class_name, schedule, status, context, last_fired_at, automatic_backfill, cron_timezone, queue_name, application_name) FROM stdin;
\.


--
-- Data for Name: workflow_status; Type: TABLE DATA; Schema: dbos; Owner: -
--

COPY dbos.workflow_status (workflow_uuid, status, name, authenticated_user, assumed_role, authenticated_roles, request, output, error, executor_id, created_at, updated_at, application_version, application_id, class_name, config_name, recovery_attempts, queue_name, workflow_timeout_ms, workflow_deadline_epoch_ms, inputs, started_at_epoch_ms, deduplication_id, priority, queue_partition_key, forked_from, owner_xid, parent_workflow_id, serialization, delay_until_epoch_ms, was_forked_from, rate_limited, completed_at, attributes, schedule_name, debounce_deadline_epoch_ms, is_debounced, application_name, creator_xid) FROM stdin;
w2	ERROR	agent	\N	\N	\N	\N	\N	\N	local	1796037122405	1796037122424	3ae55a1574ff0a3b052d404d9c14df02		\N	\N	1	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	\N	py_pickle	\N	f	f	1796037122424	null	\N	\N	f	agent	4aa30892-6049-4845-850b-0399f1f4f8be
w3-1	SUCCESS	agent	\N	\N	\N	\N	\N	\N	local	1796037122451	1796037122525	3ae55a1574ff0a3b052d404d9c14df02		\N	\N	1	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	w3	py_pickle	\N	f	f	1796037122525	null	\N	\N	f	agent	ff80b7ac-49c7-490d-bc9e-f37fe33e8ba7
w3	SUCCESS	parent	\N	\N	\N	\N	\N	\N	local	1796037122427	1796037123670	3ae55a1574ff0a3b052d404d9c14df02		\N	\N	1	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	\N	py_pickle	\N	f	f	1796037123670	null	\N	\N	f	agent	46297fca-a86c-4cb1-b8b8-7e1e5b84240b
w1	SUCCESS	agent	\N	\N	\N	\N	\N	\N	local	1796037122191	1796037122402	3ae55a1574ff0a3b052d404d9c14df02		\N	\N	1	\N	\N	\N	\N	\N	\N	0	\N	\N	\N	\N	py_pickle	\N	t	f	1796037122402	null	\N	\N	f	agent	be253fb9-75ca-4ba9-be35-a27121289544
42cb678f-3341-4183-80a0-ef61c6060a1d	SUCCESS	agent	\N	\N	\N	\N	\N	\N	local	1796037123675	1796037124693	3ae55a1574ff0a3b052d404d9c14df02		\N	\N	1	_dbos_internal_queue	\N	\N	\N	1796037124337	\N	0	\N	w1	\N	\N	py_pickle	\N	f	f	1796037124693	null	\N	\N	f	agent	\N
\.


--
-- Name: application_versions application_versions_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.application_versions
    ADD CONSTRAINT application_versions_pkey PRIMARY KEY (version_id);


--
-- Name: application_versions application_versions_version_name_key; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.application_versions
    ADD CONSTRAINT application_versions_version_name_key UNIQUE (version_name);


--
-- Name: dbos_migrations dbos_migrations_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.dbos_migrations
    ADD CONSTRAINT dbos_migrations_pkey PRIMARY KEY (version);


--
-- Name: event_dispatch_kv event_dispatch_kv_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.event_dispatch_kv
    ADD CONSTRAINT event_dispatch_kv_pkey PRIMARY KEY (service_name, workflow_fn_name, key);


--
-- Name: notifications notifications_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (message_uuid);


--
-- Name: operation_outputs operation_outputs_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.operation_outputs
    ADD CONSTRAINT operation_outputs_pkey PRIMARY KEY (workflow_uuid, function_id);


--
-- Name: queues queues_name_key; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.queues
    ADD CONSTRAINT queues_name_key UNIQUE (name);


--
-- Name: queues queues_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.queues
    ADD CONSTRAINT queues_pkey PRIMARY KEY (queue_id);


--
-- Name: streams streams_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.streams
    ADD CONSTRAINT streams_pkey PRIMARY KEY (workflow_uuid, key, "offset");


--
-- Name: workflow_events_history workflow_events_history_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_events_history
    ADD CONSTRAINT workflow_events_history_pkey PRIMARY KEY (workflow_uuid, function_id, key);


--
-- Name: workflow_events workflow_events_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_events
    ADD CONSTRAINT workflow_events_pkey PRIMARY KEY (workflow_uuid, key);


--
-- Name: workflow_input workflow_input_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_input
    ADD CONSTRAINT workflow_input_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: workflow_output workflow_output_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_output
    ADD CONSTRAINT workflow_output_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: workflow_schedules workflow_schedules_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_schedules
    ADD CONSTRAINT workflow_schedules_pkey PRIMARY KEY (schedule_id);


--
-- Name: workflow_schedules workflow_schedules_schedule_name_key; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_schedules
    ADD CONSTRAINT workflow_schedules_schedule_name_key UNIQUE (schedule_name);


--
-- Name: workflow_status workflow_status_pkey; Type: CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_status
    ADD CONSTRAINT workflow_status_pkey PRIMARY KEY (workflow_uuid);


--
-- Name: idx_application_versions_owner_timestamp; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_application_versions_owner_timestamp ON dbos.application_versions USING btree (application_name, version_timestamp DESC);


--
-- Name: idx_application_versions_timestamp; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_application_versions_timestamp ON dbos.application_versions USING btree (version_timestamp DESC);


--
-- Name: idx_operation_outputs_completed_at_function_name_v2; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_operation_outputs_completed_at_function_name_v2 ON dbos.operation_outputs USING btree (completed_at_epoch_ms, function_name) INCLUDE (application_name);


--
-- Name: idx_operation_outputs_retention; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_operation_outputs_retention ON dbos.operation_outputs USING btree (retention_timestamp);


--
-- Name: idx_workflow_input_retention; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_input_retention ON dbos.workflow_input USING btree (retention_timestamp);


--
-- Name: idx_workflow_output_retention; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_output_retention ON dbos.workflow_output USING btree (retention_timestamp);


--
-- Name: idx_workflow_status_attributes; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_attributes ON dbos.workflow_status USING gin (attributes) WHERE (attributes IS NOT NULL);


--
-- Name: idx_workflow_status_completed_at; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_completed_at ON dbos.workflow_status USING btree (completed_at) WHERE (completed_at IS NOT NULL);


--
-- Name: idx_workflow_status_deadline; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_deadline ON dbos.workflow_status USING btree (workflow_deadline_epoch_ms) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text, 'DELAYED'::text])) AND (workflow_deadline_epoch_ms IS NOT NULL));


--
-- Name: idx_workflow_status_delayed; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_delayed ON dbos.workflow_status USING btree (delay_until_epoch_ms) WHERE (status = 'DELAYED'::text);


--
-- Name: idx_workflow_status_failed; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_failed ON dbos.workflow_status USING btree (status, created_at) WHERE (status = ANY (ARRAY['ERROR'::text, 'CANCELLED'::text, 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'::text]));


--
-- Name: idx_workflow_status_forked_from; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_forked_from ON dbos.workflow_status USING btree (forked_from) WHERE (forked_from IS NOT NULL);


--
-- Name: idx_workflow_status_in_flight_v2; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_in_flight_v2 ON dbos.workflow_status USING btree (queue_name, status, priority, created_at) INCLUDE (application_name) WHERE (status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text]));


--
-- Name: idx_workflow_status_parent_workflow_id; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_parent_workflow_id ON dbos.workflow_status USING btree (parent_workflow_id) WHERE (parent_workflow_id IS NOT NULL);


--
-- Name: idx_workflow_status_partition_dequeue_v3; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_partition_dequeue_v3 ON dbos.workflow_status USING btree (queue_name, status, queue_partition_key, priority, created_at, workflow_uuid) INCLUDE (application_name) WHERE ((status = ANY (ARRAY['ENQUEUED'::text, 'PENDING'::text])) AND (queue_partition_key IS NOT NULL));


--
-- Name: idx_workflow_status_pending; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_pending ON dbos.workflow_status USING btree (created_at) WHERE (status = 'PENDING'::text);


--
-- Name: idx_workflow_status_rate_limited; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_rate_limited ON dbos.workflow_status USING btree (queue_name, started_at_epoch_ms) WHERE (rate_limited = true);


--
-- Name: idx_workflow_status_schedule_name; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_schedule_name ON dbos.workflow_status USING btree (schedule_name) WHERE (schedule_name IS NOT NULL);


--
-- Name: idx_workflow_status_started_at; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_status_started_at ON dbos.workflow_status USING btree (started_at_epoch_ms) WHERE (started_at_epoch_ms IS NOT NULL);


--
-- Name: idx_workflow_topic; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX idx_workflow_topic ON dbos.notifications USING btree (destination_uuid, topic);


--
-- Name: uq_application_versions_owner_version; Type: INDEX; Schema: dbos; Owner: -
--

CREATE UNIQUE INDEX uq_application_versions_owner_version ON dbos.application_versions USING btree (application_name, version_name) WHERE (application_name IS NOT NULL);


--
-- Name: uq_application_versions_unclaimed_version; Type: INDEX; Schema: dbos; Owner: -
--

CREATE UNIQUE INDEX uq_application_versions_unclaimed_version ON dbos.application_versions USING btree (version_name) WHERE (application_name IS NULL);


--
-- Name: uq_workflow_status_dedup_id; Type: INDEX; Schema: dbos; Owner: -
--

CREATE UNIQUE INDEX uq_workflow_status_dedup_id ON dbos.workflow_status USING btree (queue_name, deduplication_id) WHERE (deduplication_id IS NOT NULL);


--
-- Name: workflow_status_created_at_index; Type: INDEX; Schema: dbos; Owner: -
--

CREATE INDEX workflow_status_created_at_index ON dbos.workflow_status USING btree (created_at);


--
-- Name: notifications dbos_notifications_trigger; Type: TRIGGER; Schema: dbos; Owner: -
--

CREATE TRIGGER dbos_notifications_trigger AFTER INSERT ON dbos.notifications FOR EACH ROW EXECUTE FUNCTION dbos.notifications_function();


--
-- Name: notifications notifications_destination_uuid_fkey; Type: FK CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.notifications
    ADD CONSTRAINT notifications_destination_uuid_fkey FOREIGN KEY (destination_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: streams streams_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.streams
    ADD CONSTRAINT streams_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: workflow_events_history workflow_events_history_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_events_history
    ADD CONSTRAINT workflow_events_history_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: workflow_events workflow_events_workflow_uuid_fkey; Type: FK CONSTRAINT; Schema: dbos; Owner: -
--

ALTER TABLE ONLY dbos.workflow_events
    ADD CONSTRAINT workflow_events_workflow_uuid_fkey FOREIGN KEY (workflow_uuid) REFERENCES dbos.workflow_status(workflow_uuid) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--



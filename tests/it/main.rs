//! Everything that is promised about the installed programs, tried with real Git in real repositories.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod agents;
mod belonging;
mod carrying;
mod commands;
mod corpus;
mod damage;
mod documents;
mod earlier;
mod elsewhere;
mod fixtures;
mod format;
mod harm;
mod hostile;
mod importing;
mod integrity;
mod joining;
mod kills;
mod kinds;
mod left_out;
mod made;
mod manners;
mod mcp;
mod migrating;
mod model;
mod newer;
mod order;
mod purging;
mod pushed;
mod recording;
mod redaction;
mod resume;
mod rewriting;
mod rooms;
mod server;
mod setup;
mod sharing;
mod signing;
mod storage;
mod summarising;
mod support;

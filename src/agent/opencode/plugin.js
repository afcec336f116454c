// Made by 'git shiftlog init', which may replace it; 'git shiftlog deinit' removes it. Version 1.
// Tells git-shiftlog--hook what happens in a session. It never waits, and never throws.
import { spawn } from "node:child_process"
import { resolve } from "node:path"

const PROGRAM = "@PROGRAM@"
const TIMEOUT_MS = 30000
const SHELLS = ["bash", "shell"]
const MAX_CALLS = 1000

export const Shiftlog = async (input) => {
  const here = input?.directory ?? process.cwd()
  // Some releases tell the arguments of a tool only before it runs.
  const calls = new Map()
  // The sessions of sub-agents, with the ones that they work for.
  const parents = new Map()

  const quietly = (act) => async (...args) => {
    try {
      act(...args)
    } catch {}
  }

  const top = (session) => {
    for (let depth = 0; depth < 16 && parents.has(session); depth++) session = parents.get(session)
    return session
  }

  const tell = (event, session, cwd, more) => {
    if (!session) return
    const payload = { hook_event_name: event, session_id: top(session), cwd, ...more }
    const options = { cwd: here, detached: true, stdio: ["pipe", "ignore", "ignore"], timeout: TIMEOUT_MS }
    const child = spawn(PROGRAM, ["@AGENT@", event], options)
    child.on("error", () => {})
    child.stdin?.on("error", () => {})
    child.stdin?.end(JSON.stringify(payload))
    child.unref()
  }

  return {
    event: quietly(({ event }) => {
      const info = event?.properties?.info
      if (event?.type === "session.created" || event?.type === "session.updated") {
        if (info?.parentID) parents.set(info.id, info.parentID)
        else if (event.type === "session.created") tell("SessionStart", info?.id, here)
      }
      const session = event?.properties?.sessionID
      if (event?.type === "session.idle" && !parents.has(session)) tell("Stop", session, here)
    }),
    "chat.message": quietly((message) => {
      if (!parents.has(message?.sessionID)) tell("UserPromptSubmit", message?.sessionID, here)
    }),
    "tool.execute.before": quietly((call, output) => {
      if (!SHELLS.includes(call?.tool)) return
      if (calls.size >= MAX_CALLS) calls.clear()
      calls.set(call.callID, output?.args)
    }),
    "tool.execute.after": quietly((call, output) => {
      if (!SHELLS.includes(call?.tool)) return
      const args = call.args ?? calls.get(call.callID) ?? {}
      calls.delete(call.callID)
      const { title, metadata } = output ?? {}
      tell("PostToolUse", call.sessionID, resolve(here, args.workdir ?? ""), {
        tool_name: call.tool,
        tool_use_id: call.callID,
        tool_input: args,
        tool_response: { title, output: output?.output, metadata },
      })
    }),
  }
}

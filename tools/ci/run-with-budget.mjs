import { spawn } from 'node:child_process'

/** How long a program may clean up after it was told to end. */
const graceMilliseconds = 10_000

/** @typedef {{ kind: 'exited', code: number } | { kind: 'overBudget' }} Outcome */
/**
 * @typedef {object} BudgetOptions
 * @property {number} milliseconds
 * @property {string} cwd
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal ends the program early
 * @property {number} [grace]
 */

/**
 * Runs a shell command in its own process group. When its time is over, or the signal comes, the whole group is
 * told to end and then killed. What it leaves behind when it ends by itself is killed too.
 * @param {string} command
 * @param {BudgetOptions} options
 * @returns {Promise<Outcome>}
 */
export async function runWithBudget(command, { milliseconds, cwd, env, signal, grace = graceMilliseconds }) {
  const child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] })
  const budget = new AbortController()
  /** @type {NodeJS.Timeout | undefined} */
  let killTimer
  const end = () => {
    signalGroup(child.pid, 'SIGTERM')
    killTimer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), grace)
  }
  const budgetTimer = setTimeout(() => budget.abort(), milliseconds)
  const ended = AbortSignal.any([signal, budget.signal])
  ended.addEventListener('abort', end, { once: true })
  try {
    const code = await new Promise((settle, fail) => {
      child.once('error', fail)
      child.once('exit', (exitCode) => settle(exitCode ?? 1))
    })
    return budget.signal.aborted ? { kind: 'overBudget' } : { kind: 'exited', code }
  } finally {
    clearTimeout(budgetTimer)
    clearTimeout(killTimer)
    ended.removeEventListener('abort', end)
    signalGroup(child.pid, 'SIGKILL')
  }
}

/**
 * @param {number | undefined} pid of the group's leader
 * @param {NodeJS.Signals} name
 */
function signalGroup(pid, name) {
  if (pid === undefined) return
  try {
    process.kill(-pid, name)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

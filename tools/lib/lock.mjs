import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from './progress.mjs'

const pollMilliseconds = 200

/**
 * Runs `work` while no other process of this machine holds the lock. The lock is a file with the owner's process id,
 * so one left behind by a process that was killed is taken over.
 * @template T
 * @param {string} path
 * @param {() => Promise<T>} work
 * @param {(pid: number) => boolean} [isAlive]
 * @returns {Promise<T>}
 */
export async function withLock(path, work, isAlive = processIsAlive) {
  mkdirSync(dirname(path), { recursive: true })
  let told = false
  while (!tryAcquire(path)) {
    const owner = readOwner(path)
    if (owner !== undefined && !isAlive(owner)) takeAway(path, owner)
    else {
      if (!told && owner !== undefined) say(`waiting for process ${owner}, which is at the same`)
      told = true
      await sleep(pollMilliseconds)
    }
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

/**
 * A link appears together with its content, so no one ever reads a lock without an owner.
 * @param {string} path
 */
function tryAcquire(path) {
  const own = `${path}.${process.pid}`
  writeFileSync(own, String(process.pid))
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(own, { force: true })
  }
}

/**
 * @param {string} path
 * @returns {number | undefined} undefined when the lock has just been released
 */
function readOwner(path) {
  try {
    return Number(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * Removes the lock of a dead owner. Another waiter may have done so and hold the lock by now; what was moved away
 * tells, and a lock that is somebody's is put back.
 * @param {string} path
 * @param {number} deadOwner
 */
function takeAway(path, deadOwner) {
  const moved = `${path}.stale.${process.pid}`
  try {
    renameSync(path, moved)
    if (readOwner(moved) !== deadOwner) linkSync(moved, path)
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error
  } finally {
    rmSync(moved, { force: true })
  }
}

/** @param {number} pid */
function processIsAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

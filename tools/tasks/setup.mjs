/**
 * Set-up alone; what it does has happened by the time a task runs.
 * @type {import('../run-task.mjs').Task}
 */
export const task = () => Promise.resolve(0)

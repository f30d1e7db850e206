// A workload that only has a sidecar: tests send requests through it from outside.
const timer = setInterval(() => undefined, 1 << 30)
process.on('SIGTERM', () => clearInterval(timer))
console.log(JSON.stringify({ idle: true }))

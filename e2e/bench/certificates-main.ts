import { measureCertificateRatio } from './certificate-ratio.js'

/** Below this share of the floor's speed the benchmark fails. */
const REQUIRED = 0.7

const { floor, product, ratio } = await measureCertificateRatio()
console.log(
  `certificates per CPU second: ${product.toFixed(0)}, floor ${floor.toFixed(0)}, ratio ${ratio.toFixed(2)} (at least ${REQUIRED})`,
)
if (ratio < REQUIRED) process.exitCode = 1

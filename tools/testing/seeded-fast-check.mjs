import fc from '../../node_modules/fast-check/lib/fast-check.js'

// One seed for all property tests, so that a run can be repeated and two runs of one commit end alike. `OSM_PROPERTY_SEED` gives another one, to
// search further: a failure names its seed.
fc.configureGlobal({ seed: Number(process.env.OSM_PROPERTY_SEED ?? 1_000_003) })

export * from '../../node_modules/fast-check/lib/fast-check.js'
export { default } from '../../node_modules/fast-check/lib/fast-check.js'

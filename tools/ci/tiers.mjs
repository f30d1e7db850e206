/**
 * What a tier needs that set-up can't bring.
 * @typedef {object} OutsideNeed
 * @property {string} probe a shell command that succeeds where it is there
 * @property {string} why why set-up can't bring it
 * @property {boolean} [inNoRegistry] true if only a user can bring it: a run of CI spends no minutes on what needs it
 */
/**
 * @typedef {object} Tier
 * @property {string} name
 * @property {number} minutes after which it is ended and counts as failed, with those that tiers before it have left
 * @property {string} command
 * @property {readonly string[]} needs names of outside needs; with one of them absent the tier counts as not run
 */
/** @typedef {{ outside: Readonly<Record<string, OutsideNeed>>, tiers: readonly Tier[] }} TierPlan */

const budgetMinutes = 80

/**
 * Checks the content of tiers.json; its mistakes are the project's own, so they throw.
 * @param {string} text
 * @returns {TierPlan}
 */
export function parseTierPlan(text) {
  /** @type {TierPlan} */
  const plan = JSON.parse(text)
  const names = plan.tiers.map((tier) => tier.name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw new Error(`tiers.json: two tiers are named ${repeated}`)
  for (const { name, minutes, needs } of plan.tiers) {
    if (!(minutes > 0)) throw new Error(`tiers.json: ${name} has no budget`)
    const unknown = needs.find((need) => !Object.hasOwn(plan.outside, need))
    if (unknown !== undefined) throw new Error(`tiers.json: ${name} needs ${unknown}, which "outside" does not explain`)
  }
  const run = plan.tiers.filter(({ needs }) => !needs.some((need) => plan.outside[need]?.inNoRegistry === true))
  const sum = run.reduce((total, tier) => total + tier.minutes, 0)
  if (sum > budgetMinutes) throw new Error(`tiers.json: budgets add up to ${sum} minutes; ${budgetMinutes} are allowed`)
  return plan
}

export { type AccessAttributes, reviewAccess } from './access-review.js'
export { type ReviewedToken, type ReviewedUser, reviewToken } from './token-review.js'

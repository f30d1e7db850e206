/** Version of this program. */
export const packageVersion = '0.1.0'

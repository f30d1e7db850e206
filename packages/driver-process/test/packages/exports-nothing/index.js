export const driver = {}

/** Parts of identifiers: of contracts, `ADDRESS.name`, and of assets, `ADDRESS.name::asset`. */

/** Returns the name of a contract. */
export const contractNameOf = (contract: string): string => contract.slice(contract.indexOf('.') + 1);

/** Returns the name of an asset. */
export const assetNameOf = (asset: string): string => asset.slice(asset.lastIndexOf(':') + 1);

/** Returns the contract of an asset; an empty text for anything but an asset's identifier. */
export const assetContractOf = (asset: string): string => asset.slice(0, Math.max(0, asset.lastIndexOf('::')));

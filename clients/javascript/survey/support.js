// Checks what a browser needs for a report: a secure context, X25519, and storage.
import { t } from "./words.js";

/** Whether the page was loaded in a way in which browsers do not let it encrypt. */
export function isInsecure() {
  return !window.isSecureContext;
}

/** Returns what is missing; null if nothing is. */
export async function whatIsMissing() {
  try {
    await crypto.subtle.generateKey("X25519", false, ["deriveBits"]);
  } catch {
    return "X25519";
  }
  return (await canKeep()) ? null : t("storage");
}

/** Whether storage works: in some private windows it exists and cannot be opened. */
function canKeep() {
  return new Promise((resolve) => {
    try {
      const asked = indexedDB.open("shuffledp-page-try");
      asked.onsuccess = () => {
        asked.result.close();
        resolve(true);
      };
      asked.onerror = asked.onblocked = () => resolve(false);
    } catch {
      resolve(false);
    }
  });
}

// Sizes, ages, shares.

const UNITS = ["B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Math.round(value * 10) / 10}${UNITS[unit]}`;
}

export function age(time, now = Date.now()) {
  const seconds = seconds_since(time, now);
  if (seconds === null) return "–";
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

export function seconds_since(time, now = Date.now()) {
  const then = time ? Date.parse(time) : NaN;
  return Number.isNaN(then) ? null : Math.max(0, Math.floor((now - then) / 1000));
}

export function share(used, capacity) {
  if (used === null || used === undefined || !capacity) return null;
  return Math.min(1, Math.max(0, used / capacity));
}

export function percent(value) {
  return value === null ? "–" : `${Math.round(value * 100)}%`;
}

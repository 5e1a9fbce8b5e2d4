// Before anything is painted, so that a chosen theme does not come as a flash after the other one.
document.documentElement.dataset.theme = localStorage.getItem("lochan.theme") ?? "system";
